// SPDX-License-Identifier: Apache-2.0
//
// A JSON text together with the place of every value in it, so that a finding about
// "properties.nodeCount" can say line and column, which nlohmann-json does not keep. The text is
// walked a second time, beside the values that nlohmann-json has made of it.
//
// Private to job/. Limits: 1 MiB of text, 64 levels.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "job/spec.hpp"

namespace batchai::job {

using Json = nlohmann::json;

class Document {
  public:
    // Nothing, and findings, when the text is not JSON, is too large or repeats a key.
    static std::optional<Document> parse(std::string_view text, const std::string& file_name,
                                         std::vector<Finding>& findings);

    const Json& root() const { return *root_; }

    // A finding about the value at a path
    // ("properties.mountVolumes.azureFileShares[0].azureFileUrl"), or about the nearest value
    // around it when there is none.
    Finding finding(Finding::Severity severity, const std::string& path,
                    const std::string& message) const;

  private:
    Document(std::string_view text, std::string file_name);
    Finding at(std::size_t offset) const;
    const Json& nearest(std::string_view path) const;

    std::unique_ptr<Json> root_;  // apart, so that values stay where they are
    std::string file_name_;
    std::vector<std::size_t> line_starts_;
    std::unordered_map<const Json*, std::size_t> offsets_;  // of values
};

// By place in the file.
void sort(std::vector<Finding>& findings);

// parse_job for a text that is parsed already.
ParsedJob parse_job(const Document& document);

// The same, with what could be read where the findings have an error: its keys are as if they were
// not there.
JobSpec read_job(const Document& document, std::vector<Finding>& findings);

}  // namespace batchai::job
