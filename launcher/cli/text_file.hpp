// SPDX-License-Identifier: Apache-2.0
//
// Whole small files.
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::cli {

sys::Result<std::string> read_text(const std::string& path);

// Through a temporary name beside it: readers see the old file or the new one. Mode 0600.
sys::Result<void> replace_text(const std::string& path, const std::string& text);

}  // namespace batchai::cli
