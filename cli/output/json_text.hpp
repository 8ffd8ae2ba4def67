// SPDX-License-Identifier: Apache-2.0
//
// A document as JSON text, to print, to store or to pass to another program.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace batchai::cli {

// Bytes that are not UTF-8 become U+FFFD instead of throwing; file names may contain any bytes.
// indent -1: on one line.
inline std::string json_text(const nlohmann::json& document, int indent = -1) {
    return document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace batchai::cli
