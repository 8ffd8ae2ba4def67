// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/files.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "spank/protocol.hpp"

namespace batchai::spank {

sys::Result<std::string> read_all(int fd, std::size_t limit) {
    std::string text;
    char buffer[16384];
    for (;;) {
        const ssize_t n = read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sys::errno_error("read");
        if (n == 0) return text;
        if (text.size() + static_cast<std::size_t>(n) > limit)
            return sys::Error{"is larger than " + std::to_string(limit / 1024) + " KiB"};
        text.append(buffer, static_cast<std::size_t>(n));
    }
}

sys::Result<void> write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sys::errno_error("write");
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

sys::Result<std::string> read_regular_file(const std::string& path, std::size_t limit) {
    const sys::UniqueFd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file) return sys::errno_error(path);
    struct stat info = {};
    if (fstat(file.get(), &info) != 0) return sys::errno_error(path);
    if (!S_ISREG(info.st_mode)) return sys::Error{path + ": not a regular file"};
    auto text = read_all(file.get(), limit);
    if (!text) return text.error().in(path);
    return text;
}

std::string read_or_empty(int directory, const std::string& path) {
    const sys::UniqueFd file(openat(directory, path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    auto text = file ? read_all(file.get(), kStateMaximum) : sys::Result<std::string>(sys::Error{});
    return text ? *std::move(text) : std::string();
}

bool is_file_name(std::string_view name) {
    return !name.empty() && name.size() <= 255 && name.front() != '.' &&
           std::all_of(name.begin(), name.end(), [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
           });
}

bool is_within(std::string_view path, std::string_view directory) {
    while (directory.size() > 1 && directory.back() == '/') directory.remove_suffix(1);
    if (directory == "/") return path.starts_with('/');
    return path.starts_with(directory) &&
           (path.size() == directory.size() || path[directory.size()] == '/');
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
