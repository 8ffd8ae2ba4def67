// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/trusted.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "spank/helper/fields.hpp"

namespace batchai::spank {
namespace {

constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

bool is_roots_alone(int fd) {
    struct stat info = {};
    if (fstat(fd, &info) != 0) return false;
    return geteuid() != 0 || (info.st_uid == 0 && (info.st_mode & 022) == 0);
}

sys::UniqueFd open_or_make(int at, const char* name) {
    sys::UniqueFd fd(openat(at, name, kFlags));
    if (!fd && errno == ENOENT && mkdirat(at, name, 0755) == 0) fd.reset(openat(at, name, kFlags));
    return fd;
}

}  // namespace

sys::Result<sys::UniqueFd> open_trusted_directory(const std::string& path) {
    sys::UniqueFd at(open("/", kFlags));
    std::string done;
    for (const auto& name : split(path, '/')) {
        if (at && is_roots_alone(at.get())) {
            at = open_or_make(at.get(), name.c_str());
            done += "/" + name;
            if (!at && errno != ENOTDIR) return sys::errno_error(done);
        }
    }
    if (at && is_roots_alone(at.get())) return at;
    return sys::Error{(done.empty() ? "/" : done) +
                      ": must be a directory, not a symbolic link, that belongs to root and that "
                      "nobody else can write to"};
}

}  // namespace batchai::spank
