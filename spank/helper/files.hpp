// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes of whole files by descriptor, with a limit, and paths by component.
#pragma once

#include <string>
#include <string_view>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

// All data from fd. More than limit bytes are an error.
sys::Result<std::string> read_all(int fd, std::size_t limit);
sys::Result<void> write_all(int fd, std::string_view text);

// A regular file's text. A FIFO or a device is an error. Call with the rights of the user that
// named it.
sys::Result<std::string> read_regular_file(const std::string& path, std::size_t limit);

// The text of a small file of the kernel or of root, of at most 1 MiB; empty if it cannot be read.
// A relative path starts at the open directory.
std::string read_or_empty(int directory, const std::string& path);

// True if a text is safe as a file's name: at most 255 letters, digits, '-', '_' and '.', and the
// first is not '.'.
bool is_file_name(std::string_view name);

// True when path is directory or lies below it; both absolute and without "." or "..".
bool is_within(std::string_view path, std::string_view directory);

// The path of an open file, as the kernel knows it now.
sys::Result<std::string> path_of(int fd);

// A path by which this process reaches its own open file, even after the file is renamed.
std::string fd_path(int fd);

}  // namespace batchai::spank
