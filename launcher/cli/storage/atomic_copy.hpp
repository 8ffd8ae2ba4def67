// SPDX-License-Identifier: Apache-2.0
//
// Copies an open file into a directory: a temporary name first, then a rename, so that nobody ever
// sees half of it; what it replaces can only be a regular file. Permissions are the source's,
// within the umask.
#pragma once

#include <string>

#include "launcher/cli/storage/share_files.hpp"

namespace batchai::cli {

sys::Result<void> atomic_copy(int from, int directory, const std::string& name, const Progress&);

}  // namespace batchai::cli
