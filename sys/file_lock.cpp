// SPDX-License-Identifier: Apache-2.0
#include "sys/file_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "sys/file.hpp"
#include "sys/user_path.hpp"

namespace batchai::sys {
namespace {

struct flock first_byte(short type) {
    struct flock range {};  // its l_pid must be 0
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_len = 1;
    return range;
}

int lock(int fd, int command) {
    struct flock range = first_byte(F_WRLCK);
    while (::fcntl(fd, command, &range) != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

Error lock_error(const std::string& path, int code) {
    if (code == ENOSYS || code == EOPNOTSUPP || code == ENOLCK)
        return errno_error(path + ": its file system has no file locks", code);
    return errno_error("locking " + path, code);
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path) {
    auto file = open_user_file(path, O_RDWR | O_CREAT, 0600);
    if (!file) return file.error();
    if (const int code = lock(file->get(), F_OFD_SETLKW); code != 0) return lock_error(path, code);
    return FileLock(*std::move(file));
}

Result<bool> FileLock::is_held(const std::string& path) {
    const auto file = open_user_file(path, O_RDONLY);
    if (!file && is_missing(path)) return false;
    if (!file) return file.error();
    struct flock range = first_byte(F_WRLCK);
    if (::fcntl(file->get(), F_OFD_GETLK, &range) != 0) return lock_error(path, errno);
    return range.l_type != F_UNLCK;
}

Result<void> check_locks(int fd, const std::string& path) {
    const int code = lock(fd, F_OFD_SETLK);
    if (code != 0 && code != EAGAIN && code != EACCES) return lock_error(path, code);
    struct flock range = first_byte(F_UNLCK);
    (void)::fcntl(fd, F_OFD_SETLK, &range);
    return {};
}

}  // namespace batchai::sys
