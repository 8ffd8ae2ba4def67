// SPDX-License-Identifier: Apache-2.0
#include "sys/user_path.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace batchai::sys {
namespace {

// O_NONBLOCK: do not wait for the other end of a FIFO, which may never come. O_NOCTTY: a terminal
// does not become that of this process.
constexpr int kNoWait = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

bool is_own(const struct stat& info) {
    return info.st_uid == geteuid() || info.st_uid == 0;
}

bool is_of(FileKind kind, const struct stat& info) {
    if (S_ISREG(info.st_mode)) return true;
    return kind == FileKind::output && is_own(info) &&
           (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode));
}

}  // namespace

std::string user_name(uid_t user) {
    passwd entry = {};
    passwd* found = nullptr;
    std::array<char, 16384> text{};
    const int code = getpwuid_r(user, &entry, text.data(), text.size(), &found);
    return code == 0 && found != nullptr ? found->pw_name : "user " + std::to_string(user);
}

Result<void> check_link(const struct stat& info, const std::string& where) {
    if (!S_ISLNK(info.st_mode) || is_own(info)) return {};
    const std::string owner = user_name(info.st_uid);
    return Error{where + ": is not followed: it is a symbolic link of " + owner +
                 ". Name the place that you mean, or ask " + owner + " to remove the link"};
}

Result<void> check_owner(const struct stat& info, int directory, const std::string& path) {
    struct stat above = {};
    if (is_own(info)) return {};
    if (fstat(directory, &above) != 0) return errno_error(path);
    if (above.st_uid == info.st_uid) return {};
    const std::string owner = user_name(info.st_uid);
    return Error{path + ": is not written to: it belongs to " + owner +
                 ". Name another place, or ask " + owner + " to remove it"};
}

Result<Place> find_user_path(const std::string& path) {
    return walk(path, {.check = check_link});
}

Result<UniqueFd> open_user_file(const Place& place, int flags, mode_t mode, FileKind kind) {
    const int at = place.directory.get();
    const int safe = (flags & ~(O_CREAT | O_TRUNC)) | kNoWait;
    if (place.found && !is_of(kind, place.info)) return Error{place.path + ": not a regular file"};
    UniqueFd fd;
    if (!place.found && (flags & O_CREAT) != 0) {
        fd.reset(openat(at, place.name.c_str(), safe | O_CREAT | O_EXCL, mode));
        if (fd) return fd;
        if (errno != EEXIST) return errno_error(place.path);  // else another process has made it
    }
    fd.reset(openat(at, place.name.c_str(), safe));
    if (!fd && errno != ENXIO) return errno_error(place.path);
    struct stat info = {};
    if (fd && fstat(fd.get(), &info) != 0) return errno_error(place.path);
    if (!fd || !is_of(kind, info)) return Error{place.path + ": not a regular file"};
    if ((flags & O_ACCMODE) == O_RDONLY) return fd;
    if (auto good = check_owner(info, at, place.path); !good) return good.error();
    if ((flags & O_TRUNC) != 0 && S_ISREG(info.st_mode) && ftruncate(fd.get(), 0) != 0)
        return errno_error(place.path);
    return fd;
}

Result<UniqueFd> open_user_file(const std::string& path, int flags, mode_t mode, FileKind kind) {
    const auto place = find_user_path(path);
    if (!place) return place.error();
    return open_user_file(*place, flags, mode, kind);
}

Result<UniqueFd> open_user_directory(const std::string& path, int flags) {
    const auto place = find_user_path(path);
    if (!place) return place.error();
    UniqueFd fd(openat(place->directory.get(), place->name.c_str(),
                       (flags == 0 ? O_PATH : flags) | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return errno_error(place->path);
    return fd;
}

}  // namespace batchai::sys
