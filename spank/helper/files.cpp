// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/files.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "spank/protocol.hpp"
#include "sys/file.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

std::string read_or_empty(int directory, const std::string& path) {
    const sys::UniqueFd file(openat(directory, path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    auto text =
        file ? sys::read_all(file.get(), kStateMaximum) : sys::Result<std::string>(sys::Error{});
    return text ? *std::move(text) : std::string();
}

bool is_file_name(std::string_view name) {
    return !name.empty() && name.size() <= 255 && name.front() != '.' &&
           std::all_of(name.begin(), name.end(), [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
           });
}

sys::Result<std::string> path_of(int fd) {
    char target[PATH_MAX];
    const std::string link = fd_path(fd);
    const ssize_t n = readlink(link.c_str(), target, sizeof target);
    if (n < 0) return sys::errno_error(link);
    if (n == sizeof target) return sys::errno_error(link, ENAMETOOLONG);
    return std::string(target, static_cast<std::size_t>(n));
}

std::string fd_path(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

}  // namespace batchai::spank
