// SPDX-License-Identifier: Apache-2.0
//
// Reads cluster.json and nfs.json, the files of cluster create -f and file-server create -f.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sys/result.hpp"

namespace batchai::cli {

// The file's "properties", or the whole document if there are none.
sys::Result<nlohmann::json> read_parameters(const std::string& file);

// The value at "a/b/c"; null if there is none.
nlohmann::json parameter(const nlohmann::json& parameters, const std::string& path);
std::string text_parameter(const nlohmann::json& parameters, const std::string& path);

// Set the value from the file unless the command line has set it.
void take_text(std::string& value, const nlohmann::json& parameters, const std::string& path);
void take_number(std::optional<int>& value, const nlohmann::json& parameters,
                 const std::string& path);

}  // namespace batchai::cli
