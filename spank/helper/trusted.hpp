// SPDX-License-Identifier: Apache-2.0
//
// Directories that root mounts on by the admin's word.
#pragma once

#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

// Opens an absolute path for reference only, as sys::open_trusted does, and makes what is missing.
// It has no symbolic link: mounts are told by their paths later.
sys::Result<sys::UniqueFd> open_trusted_directory(const std::string& path);

}  // namespace batchai::spank
