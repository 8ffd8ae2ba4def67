// SPDX-License-Identifier: Apache-2.0
#include "cli/job/follow.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "sys/directories.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::cli {
namespace {

constexpr std::size_t kReadBlock = 64 * 1024;

}  // namespace

bool FileFollower::exists() const {
    sys::refresh_directory(std::filesystem::path(path_).parent_path());
    return ::access(path_.c_str(), F_OK) == 0;
}

sys::Result<bool> FileFollower::read_on() {
    const sys::UniqueFd file(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file && (errno == ENOENT || errno == ENOTDIR)) return false;
    if (!file) return sys::errno_error(path_);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return sys::errno_error(path_);
    if (!S_ISREG(status.st_mode)) return sys::Error{path_ + ": not a regular file"};
    if (status.st_size < offset_) offset_ = 0;

    std::vector<char> block(kReadBlock);
    for (;;) {
        const ssize_t n = ::pread(file.get(), block.data(), block.size(), offset_);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sys::errno_error(path_);
        if (n == 0) return true;
        if (auto done = sink_({block.data(), static_cast<std::size_t>(n)}); !done)
            return done.error();
        offset_ += n;
    }
}

sys::Result<bool> follow(FileFollower& file, const FollowCallbacks& callbacks) {
    bool found = false;
    bool told = false;
    for (;;) {
        const auto over = callbacks.is_over();  // before the read: the last one follows the end
        if (!over) return over.error();
        if (!found && file.exists()) {
            callbacks.found();
            found = true;
        }
        if (const auto done = file.read_on(); !done) return done.error();
        if (*over) return found;
        if (!found && !told) {
            callbacks.waiting();
            told = true;
        }
        callbacks.pause();
    }
}

}  // namespace batchai::cli
