// SPDX-License-Identifier: Apache-2.0
//
// Small files of the kernel or of root, names of files, and the paths of open files.
#pragma once

#include <string>
#include <string_view>

#include "sys/result.hpp"

namespace batchai::spank {

// The text of a small file of the kernel or of root, of at most 1 MiB; empty if it cannot be read.
// A relative path starts at the open directory.
std::string read_or_empty(int directory, const std::string& path);

// True if a text is safe as a file's name: at most 255 letters, digits, '-', '_' and '.', and the
// first is not '.'.
bool is_file_name(std::string_view name);

// The path of an open file, as the kernel knows it now.
sys::Result<std::string> path_of(int fd);

// A path by which this process reaches its own open file, even after the file is renamed.
std::string fd_path(int fd);

}  // namespace batchai::spank
