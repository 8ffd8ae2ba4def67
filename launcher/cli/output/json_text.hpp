// SPDX-License-Identifier: Apache-2.0
//
// A document as JSON text, to be shown, stored or handed to another program.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace batchai::cli {

// Bytes that are no UTF-8 (a file's name may hold any) become U+FFFD instead of an exception.
// indent -1: on one line.
inline std::string json_text(const nlohmann::json& document, int indent = -1) {
    return document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace batchai::cli
