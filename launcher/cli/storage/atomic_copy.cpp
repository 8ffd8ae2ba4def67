// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/storage/atomic_copy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
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

// A file under a temporary name in a directory. It is removed unless it is renamed into place.
class PendingFile {
  public:
    static sys::Result<PendingFile> create(int directory, mode_t mode) {
        std::uint64_t number = 0;
        if (::getrandom(&number, sizeof number, 0) != sizeof number)
            return sys::errno_error("getrandom");
        std::string temporary = fmt::format(".batchai-{:016x}", number);
        sys::UniqueFd file(::openat(directory, temporary.c_str(),
                                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
        if (!file) return sys::errno_error(temporary);
        return PendingFile(directory, std::move(temporary), std::move(file));
    }
    PendingFile(PendingFile&& other) noexcept
        : directory_(other.directory_),
          temporary_(std::exchange(other.temporary_, {})),
          file_(std::move(other.file_)) {}
    PendingFile& operator=(PendingFile&&) = delete;
    ~PendingFile() {
        if (!temporary_.empty()) ::unlinkat(directory_, temporary_.c_str(), 0);
    }

    int fd() const { return file_.get(); }

    sys::Result<void> put_in_place(const std::string& name) {
        if (::fsync(file_.get()) != 0) return sys::errno_error(temporary_);
        if (::renameat(directory_, temporary_.c_str(), directory_, name.c_str()) != 0)
            return sys::errno_error(name);
        temporary_.clear();
        return {};
    }

  private:
    PendingFile(int directory, std::string temporary, sys::UniqueFd file)
        : directory_(directory), temporary_(std::move(temporary)), file_(std::move(file)) {}
    int directory_;
    std::string temporary_;
    sys::UniqueFd file_;
};

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
    auto pending = PendingFile::create(directory, status.st_mode & 0777);
    if (!pending) return pending.error();
    if (auto done = copy_bytes(from, pending->fd(), status.st_size, progress); !done) return done;
    return pending->put_in_place(name);
}

}  // namespace batchai::cli
