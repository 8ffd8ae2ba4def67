// SPDX-License-Identifier: Apache-2.0
#include "sys/trusted.hpp"

#include <sys/stat.h>

#include <climits>
#include <iterator>
#include <sstream>
#include <vector>

#include "sys/mount_table.hpp"

namespace batchai::sys {
namespace {

constexpr int kReference = O_PATH | O_NOFOLLOW | O_CLOEXEC;
constexpr int kMostLinks = 40;  // as in the kernel

// Adds a path's names to the names that are still to be entered. The last one of rest is entered
// next.
void put_before(const std::string& path, std::vector<std::string>& rest) {
    std::vector<std::string> names;
    std::istringstream text(path);
    for (std::string name; std::getline(text, name, '/');)
        if (!name.empty()) names.push_back(name);
    rest.insert(rest.end(), std::make_move_iterator(names.rbegin()),
                std::make_move_iterator(names.rend()));
}

// The path of a name, for messages.
std::string path_of(int directory, const std::string& name) {
    const std::string link = "/proc/self/fd/" + std::to_string(directory);
    char path[PATH_MAX];
    const ssize_t n = readlink(link.c_str(), path, sizeof path);
    const std::string parent(path, n > 0 ? static_cast<std::size_t>(n) : 0);
    if (name == ".") return parent;
    return (parent == "/" ? "" : parent) + "/" + name;
}

Result<std::string> target_of(int link) {
    char target[PATH_MAX];
    const ssize_t n = readlinkat(link, "", target, sizeof target);
    if (n <= 0 || n == sizeof target) return errno_error("symbolic link");
    return std::string(target, static_cast<std::size_t>(n));
}

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

// Try to open it as a directory first: only that makes automount(8) mount it.
UniqueFd open_one(int at, const std::string& name) {
    UniqueFd fd(openat(at, name.c_str(), kReference | O_DIRECTORY));
    if (!fd && errno == ENOTDIR) fd.reset(openat(at, name.c_str(), kReference));
    return fd;
}

UniqueFd open_or_make(int at, const std::string& name, bool makes) {
    UniqueFd fd = open_one(at, name);
    if (!fd && errno == ENOENT && makes && mkdirat(at, name.c_str(), 0755) == 0)
        fd = open_one(at, name);
    return fd;
}

}  // namespace

Result<UniqueFd> open_trusted(const std::string& path, const TrustedOpen& how) {
    if (!path.starts_with('/')) return Error{path + ": must be an absolute path"};
    UniqueFd at(open("/", kReference));
    std::vector<std::string> rest;
    put_before(path, rest);
    rest.emplace_back(".");  // the root directory itself
    int links = 0;
    Servers servers;
    struct stat info = {};
    while (!rest.empty()) {
        const std::string name = std::move(rest.back());
        rest.pop_back();
        const std::string where = path_of(at.get(), name);
        UniqueFd next = open_or_make(at.get(), name, how.makes);
        if (!next) return errno_error(where);
        if (how.checks)
            if (auto good = servers.check(next.get(), where); !good) return good.error();
        if (fstat(next.get(), &info) != 0) return errno_error(where);
        if (how.checks)
            if (auto good = check(info, where); !good) return good.error();
        if (S_ISLNK(info.st_mode)) {
            if (how.makes) return Error{where + ": is a symbolic link: name the directory itself"};
            if (++links > kMostLinks) return errno_error(path, ELOOP);
            const auto target = target_of(next.get());
            if (!target) return target.error().in(where);
            if (target->starts_with('/')) at.reset(open("/", kReference));
            put_before(*target, rest);
            continue;
        }
        if (rest.empty() && (how.flags & O_PATH) == 0)
            next.reset(openat(at.get(), name.c_str(), how.flags | O_NOFOLLOW | O_CLOEXEC));
        if (!next) return errno_error(where);
        at = std::move(next);
    }
    if ((how.flags & O_DIRECTORY) != 0 && !S_ISDIR(info.st_mode)) return errno_error(path, ENOTDIR);
    return at;
}

}  // namespace batchai::sys
