// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes of whole files by descriptor, with a limit, and paths by component.
#pragma once

#include <string>
#include <string_view>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

// All that can be read from fd; an error when it is more than limit bytes.
sys::Result<std::string> read_all(int fd, std::size_t limit);
sys::Result<void> write_all(int fd, std::string_view text);

// A regular file's text; path must not be a FIFO or device. Call with the rights of who named it.
sys::Result<std::string> read_regular_file(const std::string& path, std::size_t limit);

// The text of a small file of the kernel's or of root's, of at most 1 MiB; empty where it cannot be
// read. A path that is not absolute starts at the open directory.
std::string read_or_empty(int directory, const std::string& path);

// Whether a text is safe as the name of a file: at most 255 letters, digits, '-', '_' and '.',
// which is not the first.
bool is_file_name(std::string_view name);

// True when path is directory or lies below it; both absolute and without "." or "..".
bool is_within(std::string_view path, std::string_view directory);

// The path of an open file, as the kernel knows it now.
sys::Result<std::string> path_of(int fd);

// A path by which this process reaches its own open file, whatever the file's name is by now.
std::string fd_path(int fd);

}  // namespace batchai::spank
