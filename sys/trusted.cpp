// SPDX-License-Identifier: Apache-2.0
#include "sys/trusted.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "sys/mount_table.hpp"
#include "sys/path_walk.hpp"

namespace batchai::sys {
namespace {

Result<void> check(const struct stat& info, const std::string& path) {
    if (info.st_uid != 0) return Error{path + ": belongs to another user than root: chown root"};
    if (S_ISLNK(info.st_mode) || (info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
    return Error{path + ": others can write to it: chmod go-w" +
                 (S_ISDIR(info.st_mode) ? ", or use another directory" : "")};
}

// A server that a user runs could answer that a component belongs to root, or not answer at all.
class Servers {
  public:
    // Call before anything else is asked about the component.
    Result<void> check(int component, const std::string& path) {
        const MountEntry* mount = table_.of(component);
        if (mount == nullptr) {  // the first component, or automount(8) has mounted it just now
            auto table = MountTable::read();
            if (!table) return table.error();
            table_ = *std::move(table);
            mount = table_.of(component);
        }
        if (mount == nullptr || server_of(*mount) != Server::user) return {};
        return Error{path + ": is on a file server of a user (" + describe(*mount) +
                     "): use another directory"};
    }

  private:
    MountTable table_{""};
};

UniqueFd open_or_make(int above, const char* name) {
    UniqueFd fd = open_component(above, name);
    if (!fd && errno == ENOENT && mkdirat(above, name, 0755) == 0) fd = open_component(above, name);
    return fd;
}

}  // namespace

Result<UniqueFd> open_trusted(const std::string& path, const TrustedOpen& how) {
    if (!path.starts_with('/')) return Error{path + ": must be an absolute path"};
    PathWalk rules;
    Servers servers;
    if (how.checks)
        rules.admit = [&servers](int component, const std::string& where) {
            return servers.check(component, where);
        };
    rules.check = [&how](const struct stat& info, const std::string& where) -> Result<void> {
        if (how.checks)
            if (auto good = check(info, where); !good) return good;
        if (how.makes && S_ISLNK(info.st_mode))
            return Error{where + ": is a symbolic link: name the directory itself"};
        return {};
    };
    if (how.makes) rules.open = open_or_make;
    auto place = walk(path, rules);
    if (!place) return place.error();
    if (!place->found) return errno_error(place->path, ENOENT);
    if ((how.flags & O_DIRECTORY) != 0 && !S_ISDIR(place->info.st_mode))
        return errno_error(path, ENOTDIR);
    if ((how.flags & O_PATH) != 0) return std::move(place->found);
    UniqueFd fd(
        openat(place->directory.get(), place->name.c_str(), how.flags | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return errno_error(place->path);
    return fd;
}

}  // namespace batchai::sys
