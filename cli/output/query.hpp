// SPDX-License-Identifier: Apache-2.0
//
// --query: evaluates JMESPath with the Python module that az has for it, jmespath (Debian's package
// python3-jmespath), in the first Python that has it: python3 on the PATH, then /usr/bin/python3.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sys/result.hpp"

namespace batchai::cli {

// What the expression makes of the document; keys of objects that it makes ({name: …}) are in its
// order. Null: it matches nothing. Empty: no Python here has the module.
sys::Result<std::optional<nlohmann::ordered_json>> run_query(const std::string& expression,
                                                             const nlohmann::json& document);

}  // namespace batchai::cli
