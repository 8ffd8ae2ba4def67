// SPDX-License-Identifier: Apache-2.0
#include "sys/directories.hpp"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <vector>

#include "sys/shell.hpp"
#include "sys/unique_fd.hpp"
#include "sys/user_path.hpp"

namespace batchai::sys {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kCopied = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO;
// Another user's process may be about to give a new directory its group.
constexpr int kTries = 5;
constexpr useconds_t kBetweenTries = 20000;

bool is_writable(const std::string& directory) {
    return faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

// A path and all directories above it, the shortest first.
std::vector<std::string> levels_of(const std::string& path) {
    std::vector<std::string> levels;
    fs::path level;
    for (const fs::path& name : fs::path(path)) {
        level /= name;
        if (!name.empty()) levels.push_back(level);
    }
    return levels;
}

// The error if no directory can be made in the last level of an existing path. Levels that the same
// owner made below a directory open to this process lack its mode or its group. The remedy names
// all of these levels.
Error refusal(const std::string& path) {
    std::string last, open, closed;
    struct stat above = {}, info = {};
    uid_t owner = 0;
    bool other_group = false;
    for (const std::string& level : levels_of(path)) {
        if (stat(level.c_str(), &info) != 0) break;
        if (is_writable(level)) {
            open = level;
            above = info;
            closed.clear();
        } else {
            if (owner != info.st_uid) closed.clear();
            closed += " " + shell_quoted(level);
            other_group = info.st_gid != above.st_gid && (above.st_mode & S_IWOTH) == 0;
        }
        last = level;
        owner = info.st_uid;
    }
    const std::string name = user_name(owner);
    const std::string line =
        last + ": belongs to " + name + ", and you may not make directories in it: ";
    if (open.empty() || closed.empty() || owner == 0)  // the admin closes directories on purpose
        return Error{line + "use another directory"};
    const std::string as_above = " --reference=" + shell_quoted(open) + closed;
    return Error{line + "ask " + name + " to run '" +
                 (other_group ? "chgrp" + as_above + " && " : "") + "chmod" + as_above + "'"};
}

bool has_acl(int directory, const char* kind) {
    const std::string path = "/proc/self/fd/" + std::to_string(directory);
    return getxattr(path.c_str(), kind, nullptr, 0) > 0;
}

// Gives its group and mode to a directory that we have just made. Other users can write to the
// directory above and may have exchanged it, so a directory that differs from ours is left alone.
void give_group(int at, const char* name, mode_t made, gid_t group, mode_t mode) {
    const UniqueFd fd(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info = {};
    if (!fd || fstat(fd.get(), &info) != 0 || info.st_uid != geteuid() ||
        (info.st_mode & kCopied) != made)
        return;
    if (info.st_gid == group || fchown(fd.get(), static_cast<uid_t>(-1), group) == 0)
        (void)fchmod(fd.get(), mode);
}

// mkdirat(2), with the permissions of the directory above. It lifts the umask and does not change
// the mode afterwards. So no other process sees the directory closed, and no name is looked up
// twice.
int make_shared_level(int at, const char* name) {
    struct stat above = {};
    if (fstat(at, &above) != 0) return -1;
    if ((above.st_mode & (S_IWGRP | S_IWOTH)) == 0) return mkdirat(at, name, 0777);
    const Umask none(0);
    const mode_t mode = (above.st_mode & kCopied) | S_IRWXU;
    // Permissions that all others have too can be given to any group.
    const mode_t common = mode & ~(S_IRWXG & ~((mode & S_IRWXO) << 3));
    // The kernel gives the group and the ACL of the directory above.
    if (has_acl(at, "system.posix_acl_default")) return mkdirat(at, name, mode);
    // The group's bits are the mask of an ACL that is not inherited.
    if (has_acl(at, "system.posix_acl_access")) return mkdirat(at, name, common);
    if (mode == common || (above.st_mode & S_ISGID) != 0 || above.st_gid == getegid())
        return mkdirat(at, name, mode);
    if (mkdirat(at, name, common) != 0) return -1;
    give_group(at, name, common, above.st_gid, mode);
    return 0;
}

// Makes one level, or finds it; empty, with errno, if neither succeeds. It makes the level before
// it looks for it: an NFS server may still show a directory that was removed on its side, and then
// no directory can be made below.
UniqueFd open_level(int at, const char* name) {
    for (int i = 1;; ++i) {
        const int code = make_shared_level(at, name) == 0 || errno == EEXIST ? 0 : errno;
        UniqueFd found = open_component(at, name);
        if (found) return found;
        if (code != 0) errno = code;
        if (errno != EACCES || i == kTries) return {};
        usleep(kBetweenTries);
    }
}

// Opens each level with open, which makes it if it is missing. Links of another user are errors.
Result<Place> make_levels(const std::string& path,
                          const std::function<UniqueFd(int above, const char* name)>& open) {
    auto place =
        walk(path, {.check = check_link, .open = open, .explain = [](auto& where, int code) {
                        return code == EACCES ? refusal(where) : errno_error(where, code);
                    }});
    if (!place) return place.error();
    if (!place->found) return errno_error(path, ENOENT);  // removed meanwhile
    if (!S_ISDIR(place->info.st_mode)) return errno_error(path, ENOTDIR);
    return place;
}

}  // namespace

Result<void> make_directories(const std::string& path, mode_t mode) {
    const auto place = make_levels(path, [mode](int above, const char* name) {
        // A read-only file system reports EROFS even if the directory exists.
        const int code = mkdirat(above, name, mode) == 0 || errno == EEXIST ? 0 : errno;
        UniqueFd found = open_component(above, name);
        if (!found && code != 0) errno = code;
        return found;
    });
    if (!place) return place.error();
    if ((mode & (S_IRWXG | S_IRWXO)) != 0) return {};
    return check_owner(place->info, place->directory.get(), place->path);
}

Result<void> make_shared_directories(const std::string& path) {
    const auto place = make_levels(path, open_level);
    return place ? Result<void>() : place.error();
}

Result<void> check_writable(const std::string& base, const std::string& path) {
    std::error_code error;
    if (!fs::is_directory(base, error)) return {};
    std::string last = base;
    for (const std::string& level : levels_of(path)) {
        const fs::file_status status = fs::status(level, error);
        if (status.type() == fs::file_type::not_found) break;
        if (error == std::errc::permission_denied) return refusal(level);
        if (error) return errno_error(level, error.value());
        if (!fs::is_directory(status)) return errno_error(level, ENOTDIR);
        last = level;
    }
    if (is_writable(last) || errno != EACCES) return {};
    return refusal(last);
}

void refresh_directory(const std::string& path) {
    const UniqueFd found(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
    const fs::path above = fs::path(path).parent_path();
    if (found || errno != ENOENT || above.empty() || above == path) return;
    refresh_directory(above);  // the client may remember that the directory itself is missing
    const UniqueFd made(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
}

}  // namespace batchai::sys
