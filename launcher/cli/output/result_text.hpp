// SPDX-License-Identifier: Apache-2.0
//
// A result as -o tsv and -o yaml print it, in az's form. Tables: result_table.hpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace batchai::cli {

// A line for each element of an array, or one for anything else: an object's values by the order of
// their keys, between tabs. An array inside is its length, an object inside is empty, null is None.
std::string tsv_text(const nlohmann::json& result);

// Block style. A string that YAML could read as something else is quoted as in JSON.
std::string yaml_text(const nlohmann::json& result);

}  // namespace batchai::cli
