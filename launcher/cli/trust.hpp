// SPDX-License-Identifier: Apache-2.0
//
// Whether root may believe a file: nobody else can change it, nor put another one in its place.
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::cli {

// Every component of an absolute path, links followed, belongs to root and only root can write to
// it; a directory with the sticky bit passes where what is in it belongs to root.
// An error names the first component that does not.
sys::Result<void> check_root_owned(const std::string& path);

}  // namespace batchai::cli
