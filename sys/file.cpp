// SPDX-License-Identifier: Apache-2.0
#include "sys/file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "sys/user_path.hpp"

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

}  // namespace

Result<UniqueFd> open_regular(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | kHarmless));
    if (!fd) return errno_error(path);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return errno_error(path);
    if (!S_ISREG(status.st_mode)) return Error{path + ": not a regular file"};
    return fd;
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
    const auto opened = open_regular(path);
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
    const std::filesystem::path file = path;
    const std::string above = file.parent_path();
    const auto directory = open_user_directory(above.empty() ? "." : above);
    if (!directory) return directory.error();
    auto pending = PendingFile::create(directory->get(), 0600);
    if (!pending) return pending.error().in(path);
    if (auto done = write_all(pending->fd(), text); !done) return done.error().in(path);
    if (::fchmod(pending->fd(), mode) != 0) return errno_error(path + ": fchmod");
    if (auto done = pending->put_in_place(file.filename()); !done) return done.error().in(path);
    return {};
}

Result<void> append_file(const std::string& path, std::string_view text, mode_t mode) {
    auto fd = open_user_file(path, O_WRONLY | O_CREAT | O_APPEND, mode);
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

Result<PendingFile> PendingFile::create(int directory, mode_t mode) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) return errno_error("getrandom");
    std::array<char, 32> name{};
    (void)std::snprintf(name.data(), name.size(), ".batchai-%016" PRIx64, number);
    UniqueFd file(::openat(directory, name.data(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!file) return errno_error(name.data());
    return PendingFile(directory, name.data(), std::move(file));
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : directory_(other.directory_),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)) {}

PendingFile::~PendingFile() {
    if (!temporary_.empty()) ::unlinkat(directory_, temporary_.c_str(), 0);
}

Result<void> PendingFile::put_in_place(const std::string& name) {
    if (::fsync(file_.get()) != 0) return errno_error("fsync");
    if (auto closed = close_written(std::move(file_)); !closed) return closed;
    if (::renameat(directory_, temporary_.c_str(), directory_, name.c_str()) != 0)
        return errno_error("rename");
    temporary_.clear();
    return {};
}

}  // namespace batchai::sys
