// SPDX-License-Identifier: Apache-2.0
//
// A JSON text with the place of every value in it, so that a finding about "properties.nodeCount"
// has a line and a column. nlohmann-json does not keep places. So the text is scanned a second
// time. Limits: 1 MiB of text, 64 levels, 1024 keys in an object.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/spec.hpp"

namespace batchai::job {

using Json = nlohmann::ordered_json;  // a snapshot keeps the order of the user's keys

// Where a value begins in the text, and the values in it.
struct Place {
    std::size_t offset = 0;
    std::map<std::string, Place> members;
    std::vector<Place> elements;
};

class Document {
  public:
    // nullopt and findings: the text is not JSON, is too large or repeats a key.
    static std::optional<Document> parse(std::string_view text, const std::string& file_name,
                                         std::vector<Finding>& findings);

    // Of no text: its findings have no place.
    explicit Document(Json root);

    const Json& root() const { return root_; }
    // To change or add values. A finding about an added value has no place in the text.
    Json& root() { return root_; }

    // A finding about the value at a path
    // ("properties.mountVolumes.azureFileShares[0].azureFileUrl"), or about the nearest value
    // around it if there is none.
    Finding finding(Finding::Severity severity, const std::string& path,
                    const std::string& message) const;

  private:
    Document(std::string_view text, std::string file_name);
    Finding at(std::optional<std::size_t> offset) const;
    std::optional<std::size_t> offset_of(std::string_view path) const;

    Json root_;
    Place place_;
    std::string file_name_;
    std::vector<std::size_t> line_starts_;
};

// Sorts by place in the file.
void sort(std::vector<Finding>& findings);

// Reads a job from a document. It is a partial one if findings have an error then. Keys with errors
// are left out.
JobSpec read_job(const Document& document, std::vector<Finding>& findings);

}  // namespace batchai::job
