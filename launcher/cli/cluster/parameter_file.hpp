// SPDX-License-Identifier: Apache-2.0
//
// cluster.json and nfs.json: the files of cluster create -f and file-server create -f.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sys/result.hpp"

namespace batchai::cli {

// The file's "properties", or all of it where there are none.
sys::Result<nlohmann::json> read_parameters(const std::string& file);

// The value at "a/b/c"; null where it is not there.
nlohmann::json parameter(const nlohmann::json& parameters, const std::string& path);
std::string text_parameter(const nlohmann::json& parameters, const std::string& path);

// Options count before the file: a value that is there already stays.
void take_text(std::string& value, const nlohmann::json& parameters, const std::string& path);
void take_number(std::optional<int>& value, const nlohmann::json& parameters,
                 const std::string& path);

}  // namespace batchai::cli
