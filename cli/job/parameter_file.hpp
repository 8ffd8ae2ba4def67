// SPDX-License-Identifier: Apache-2.0
//
// Reads cluster.json and nfs.json, the files of cluster create -f and file-server create -f.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/spec.hpp"

namespace batchai::cli {

// The file's "properties", or the whole document if there are none. It prints each finding of the
// check (job/parameter_file.hpp). Nothing: one of them is an error, or the file cannot be read.
std::optional<nlohmann::json> read_parameters(
    const std::string& file,
    std::vector<job::Finding> (*check)(std::string_view text, const std::string& file_name));

// Prints each finding about a file on a line: an error always, others unless notes are silenced.
void print_findings(const std::vector<job::Finding>&);

// The value at "a/b/c"; null if there is none.
nlohmann::json parameter(const nlohmann::json& parameters, const std::string& path);
std::string text_parameter(const nlohmann::json& parameters, const std::string& path);

// Set the value from the file unless the command line has set it.
void take_text(std::string& value, const nlohmann::json& parameters, const std::string& path);
void take_number(std::optional<int>& value, const nlohmann::json& parameters,
                 const std::string& path);

}  // namespace batchai::cli
