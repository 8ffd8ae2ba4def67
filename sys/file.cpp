// SPDX-License-Identifier: Apache-2.0
#include "sys/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sys/unique_fd.hpp"

namespace batchai::sys {

namespace {

// O_NONBLOCK: do not wait for the other end of a FIFO, which may never come. O_NOCTTY: a terminal
// does not become that of this process.
constexpr int kHarmless = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

std::string size_text(std::size_t bytes) {
    return bytes % 1024 == 0 ? std::to_string(bytes / 1024) + " KiB"
                             : std::to_string(bytes) + " bytes";
}

// NFS reports only here that a disk is full or a quota is used up.
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

Error error_of(int code) {
    return {std::strerror(code)};
}

// The target of the symbolic link, if the user or root has made it.
Result<std::string> target_of_own_link(int directory, const std::string& name) {
    const UniqueFd link(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!link || ::fstat(link.get(), &status) != 0) return error_of(errno);
    if (!S_ISLNK(status.st_mode)) return error_of(ENOTDIR);
    if (status.st_uid != ::geteuid() && status.st_uid != 0) {
        return Error{"a symbolic link that another user (uid " + std::to_string(status.st_uid) +
                     ") has made"};
    }
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
    if (size < 0) return error_of(errno);
    return std::string(target.data(), static_cast<std::size_t>(size));
}

Result<UniqueFd> only_regular(UniqueFd fd, const std::string& path) {
    const bool no_reader = !fd && errno == ENXIO;
    if (!fd && !no_reader) return errno_error(path);
    struct stat status {};
    if (no_reader || (::fstat(fd.get(), &status) == 0 && !S_ISREG(status.st_mode)))
        return Error{path + ": not a regular file"};
    return fd;
}

}  // namespace

Result<UniqueFd> open_regular(const std::string& path, int flags, mode_t mode) {
    return only_regular(UniqueFd(::open(path.c_str(), flags | kHarmless, mode)), path);
}

Result<UniqueFd> open_own(int directory, const std::string& name, int flags, mode_t mode) {
    const int safe = flags | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(::openat(directory, name.c_str(), safe, mode));
    // With O_DIRECTORY a link is ENOTDIR.
    if (!fd && (errno == ELOOP || errno == ENOTDIR)) {
        const auto target = target_of_own_link(directory, name);
        if (!target) return target.error();
        fd.reset(::openat(directory, target->c_str(), flags | O_CLOEXEC, mode));
    }
    if (!fd) return error_of(errno);
    return fd;
}

Result<UniqueFd> open_regular_below(const std::string& base, const std::string& path, int flags,
                                    mode_t mode) {
    const std::filesystem::path file = path;
    UniqueFd at(::open(base.empty() ? "/" : base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!at) return errno_error(base);
    for (const auto& name : file.parent_path().lexically_relative(base.empty() ? "/" : base)) {
        auto next = open_own(at.get(), name, O_PATH | O_DIRECTORY);
        if (!next) return next.error().in(path + ": " + name.string());
        at = *std::move(next);
    }
    const int safe = flags | O_NOFOLLOW | kHarmless;
    return only_regular(UniqueFd(::openat(at.get(), file.filename().c_str(), safe, mode)), path);
}

Result<std::string> read_all(int fd, std::size_t limit) {
    std::string text;
    char buffer[16384];
    while (true) {
        const ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error("read");
        if (n == 0) return text;
        text.append(buffer, static_cast<std::size_t>(n));
        if (text.size() > limit) return Error{"is larger than " + size_text(limit)};
    }
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
    const auto opened = open_regular(path, O_RDONLY);
    if (!opened) return opened.error();
    auto text = read_all(opened->get(), limit);
    if (!text) return text.error().in(path);
    return text;
}

std::string tail_of(int fd, std::size_t bytes) {
    const off_t size = std::max<off_t>(0, ::lseek(fd, 0, SEEK_END));
    const off_t start = std::max<off_t>(0, size - static_cast<off_t>(bytes));
    std::string text(static_cast<std::size_t>(size - start), '\0');
    const ssize_t n = ::pread(fd, text.data(), text.size(), start);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, n)));
    const std::size_t whole = start > 0 ? text.find('\n') + 1 : 0;
    if (whole < text.size()) text.erase(0, whole);
    return text;
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
    if (auto done = write_and_close(*std::move(fd), text); !done) return done.error().in(path);
    return {};
}

Result<void> write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error("write");
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

Result<void> write_and_close(UniqueFd fd, std::string_view text) {
    if (auto written = write_all(fd.get(), text); !written) return written;
    return close_written(std::move(fd));
}

}  // namespace batchai::sys
