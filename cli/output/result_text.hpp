// SPDX-License-Identifier: Apache-2.0
//
// A result as text: in JSON, with -o tsv and -o yaml in az's form, and what --query makes of it.
// Tables: result_table.hpp.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sys/result.hpp"

namespace batchai::cli {

// A line for each element of an array, or one line for other values. An object's values are in the
// order of its keys and separated by tabs. A nested array appears as its length, a nested object as
// nothing, null as None.
std::string tsv_text(const nlohmann::ordered_json& result);

// Block style. A string that YAML could read as another type is quoted as in JSON.
std::string yaml_text(const nlohmann::json& result);

// A document as JSON text, to print, to store or to pass to another program. Bytes that are not
// UTF-8 become U+FFFD instead of throwing; file names may contain any bytes. indent -1: on one
// line.
inline std::string json_text(const nlohmann::json& document, int indent = -1) {
    return document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

// --query: evaluates JMESPath with the Python module that az has for it, jmespath (Debian's package
// python3-jmespath), in the first Python that has it: python3 on the PATH, then /usr/bin/python3.
//
// What the expression makes of the document; keys of objects that it makes ({name: …}) are in its
// order. Null: it matches nothing. Empty: no Python here has the module.
sys::Result<std::optional<nlohmann::ordered_json>> run_query(const std::string& expression,
                                                             const nlohmann::json& document);

}  // namespace batchai::cli
