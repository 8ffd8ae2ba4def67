// SPDX-License-Identifier: Apache-2.0
//
// A JSON text with the place of every value in it, so that a finding about "properties.nodeCount"
// has a line and a column. nlohmann-json does not keep places. So the text is scanned a second
// time, together with the values of nlohmann-json.
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
    // nullopt and findings: the text is not JSON, is too large or repeats a key.
    static std::optional<Document> parse(std::string_view text, const std::string& file_name,
                                         std::vector<Finding>& findings);

    const Json& root() const { return *root_; }

    // A finding about the value at a path
    // ("properties.mountVolumes.azureFileShares[0].azureFileUrl"), or about the nearest value
    // around it if there is none.
    Finding finding(Finding::Severity severity, const std::string& path,
                    const std::string& message) const;

  private:
    Document(std::string_view text, std::string file_name);
    Finding at(std::size_t offset) const;
    const Json& nearest(std::string_view path) const;

    std::unique_ptr<Json> root_;  // on the heap, so that values keep their addresses
    std::string file_name_;
    std::vector<std::size_t> line_starts_;
    std::unordered_map<const Json*, std::size_t> offsets_;  // of values in the text
};

// Sorts by place in the file.
void sort(std::vector<Finding>& findings);

// Like parse_job, for a text that is parsed already.
ParsedJob parse_job(const Document& document);

// Like parse_job, and also returns a partial result if findings have an error. Keys with errors are
// left out.
JobSpec read_job(const Document& document, std::vector<Finding>& findings);

}  // namespace batchai::job
