// SPDX-License-Identifier: Apache-2.0
#include "sys/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "sys/unique_fd.hpp"

namespace batchai::sys {

namespace {

Result<void> write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error("write");
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

// NFS says only here that a disk is full or a quota used up.
Result<void> close_written(UniqueFd fd) {
    if (::close(fd.release()) != 0) return errno_error("close");
    return {};
}

Result<void> write_and_rename(UniqueFd fd, std::string_view text, mode_t mode,
                              const std::string& from, const std::string& to) {
    if (auto written = write_all(fd.get(), text); !written) return written;
    if (::fchmod(fd.get(), mode) != 0) return errno_error("fchmod");
    if (::fsync(fd.get()) != 0) return errno_error("fsync");
    if (auto closed = close_written(std::move(fd)); !closed) return closed;
    if (::rename(from.c_str(), to.c_str()) != 0) return errno_error("rename");
    return {};
}

}  // namespace

// O_NONBLOCK: the other end of a FIFO, which may never come, is not waited for.
Result<UniqueFd> open_regular(const std::string& path, int flags, mode_t mode) {
    UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, mode));
    const bool no_reader = !fd && errno == ENXIO;
    if (!fd && !no_reader) return errno_error(path);
    struct stat status {};
    if (no_reader || (::fstat(fd.get(), &status) == 0 && !S_ISREG(status.st_mode)))
        return Error{path + ": not a regular file"};
    return fd;
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
    const auto opened = open_regular(path, O_RDONLY);
    if (!opened) return opened.error();
    const UniqueFd& fd = *opened;
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

bool is_regular_file(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_missing(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

Result<void> write_file(const std::string& path, std::string_view text, mode_t mode) {
    std::string beside = path + ".XXXXXX";
    UniqueFd fd(::mkostemp(beside.data(), O_CLOEXEC));
    if (!fd) return errno_error(path);
    auto written = write_and_rename(std::move(fd), text, mode, beside, path);
    if (written) return written;
    ::unlink(beside.c_str());
    return written.error().in(path);
}

Result<void> append_file(const std::string& path, std::string_view text, mode_t mode) {
    auto fd = open_regular(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, mode);
    if (!fd) return fd.error();
    if (auto written = write_all(fd->get(), text); !written) return written.error().in(path);
    if (auto closed = close_written(*std::move(fd)); !closed) return closed.error().in(path);
    return {};
}

}  // namespace batchai::sys
