// SPDX-License-Identifier: Apache-2.0
//
// -o tsv and -o yaml, in az's form. Tables: result_table.hpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace batchai::cli {

// A line for each element of an array, or one line for other values. An object's values are in the
// order of its keys and separated by tabs. A nested array appears as its length, a nested object as
// nothing, null as None.
std::string tsv_text(const nlohmann::ordered_json& result);

// Block style. A string that YAML could read as another type is quoted as in JSON.
std::string yaml_text(const nlohmann::json& result);

}  // namespace batchai::cli
