// SPDX-License-Identifier: Apache-2.0
//
// Copies an open file into a directory with a sys::PendingFile, so that no reader sees half a file.
// It replaces a regular file only. The permissions are the source's, within the umask.
#pragma once

#include <string>

#include "cli/storage/share_files.hpp"

namespace batchai::cli {

sys::Result<void> atomic_copy(int from, int directory, const std::string& name, const Progress&);

}  // namespace batchai::cli
