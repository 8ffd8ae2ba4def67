// SPDX-License-Identifier: Apache-2.0
#include "sys/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "sys/unique_fd.hpp"

namespace batchai::sys {

namespace {

Result<void> write_all(int fd, std::string_view text, const std::string& path) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error(path);
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return errno_error(path);
    std::string text;
    char buffer[16384];
    while (true) {
        const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error(path);
        if (n == 0) return text;
        text.append(buffer, static_cast<std::size_t>(n));
        if (text.size() > limit)
            return Error{path + ": larger than " + std::to_string(limit) + " bytes"};
    }
}

Result<void> write_file(const std::string& path, std::string_view text, mode_t mode) {
    const std::string beside = path + "." + std::to_string(::getpid()) + ".tmp";
    const UniqueFd fd(
        ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!fd) return errno_error(beside);
    const Result<void> written = write_all(fd.get(), text, beside);
    if (written && ::rename(beside.c_str(), path.c_str()) == 0) return {};
    const Error error = written ? errno_error(path) : written.error();
    ::unlink(beside.c_str());
    return error;
}

Result<void> append_file(const std::string& path, std::string_view text, mode_t mode) {
    const UniqueFd fd(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!fd) return errno_error(path);
    return write_all(fd.get(), text, path);
}

}  // namespace batchai::sys
