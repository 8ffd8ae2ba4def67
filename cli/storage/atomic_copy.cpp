// SPDX-License-Identifier: Apache-2.0
#include "cli/storage/atomic_copy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sys/file.hpp"

namespace batchai::cli {
namespace {

constexpr std::size_t kCopyBlock = 1024 * 1024;

sys::Result<void> copy_bytes(int from, int to, std::int64_t total, const Progress& progress) {
    std::vector<char> block(kCopyBlock);
    std::int64_t copied = 0;
    for (;;) {
        const ssize_t n = ::read(from, block.data(), block.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sys::errno_error("read");
        if (n == 0) return {};
        const std::string_view data(block.data(), static_cast<std::size_t>(n));
        if (auto done = sys::write_all(to, data); !done) return done;
        copied += n;
        if (progress) progress(copied, total);
    }
}

// A copy may replace a regular file only, not a device, a FIFO or a symbolic link.
sys::Result<void> may_replace(int directory, const std::string& name) {
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? sys::Result<void>() : sys::errno_error(name);
    if (S_ISREG(status.st_mode)) return {};
    return sys::Error{"not a regular file: a copy replaces only regular files"};
}

}  // namespace

sys::Result<void> atomic_copy(int from, int directory, const std::string& name,
                              const Progress& progress) {
    struct stat status {};
    if (::fstat(from, &status) != 0) return sys::errno_error("stat");
    if (!S_ISREG(status.st_mode)) return sys::Error{"not a regular file"};
    if (auto done = may_replace(directory, name); !done) return done;
    auto pending = sys::PendingFile::create(directory, status.st_mode & 0777);
    if (!pending) return pending.error();
    if (auto done = copy_bytes(from, pending->fd(), status.st_size, progress); !done) return done;
    if (auto done = pending->put_in_place(name); !done) return done.error().in(name);
    return {};
}

}  // namespace batchai::cli
