// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/mount.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "job/size.hpp"
#include "spank/helper/allowlist.hpp"
#include "spank/helper/fields.hpp"
#include "spank/helper/files.hpp"
#include "spank/helper/trusted.hpp"

namespace batchai::spank {
namespace {

std::string fd_path(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

unsigned long mount_flags(const job::Mount& mount) {
    unsigned long flags = MS_NOSUID | MS_NODEV;
    if (mount.read_only) flags |= MS_RDONLY;
    if (mount.no_exec) flags |= MS_NOEXEC;
    return flags;
}

std::string kernel_options(const std::string& size, const Credentials& user, const char* mode) {
    std::string options = std::string("mode=") + mode + ",uid=" + std::to_string(user.uid) +
                          ",gid=" + std::to_string(user.gid);
    if (!size.empty()) options += ",size=" + std::to_string(*job::parse_size(size));
    return options;
}

// Opens the mount's target below the root, making what is missing. All of it must be directories of
// our own tmpfs: in another mount of the job, a user could exchange them.
sys::Result<sys::UniqueFd> make_target(int root, const std::string& target) {
    struct stat own = {};
    if (fstat(root, &own) != 0) return sys::errno_error(target);
    sys::UniqueFd at(fcntl(root, F_DUPFD_CLOEXEC, 3));
    bool made = false;
    bool outside = false;
    for (const auto& name : split(target, '/')) {
        if (name == "." || name == "..")
            return sys::Error{fmt::format("{}: target: must not contain '{}'", target, name)};
        made = !outside && mkdirat(at.get(), name.c_str(), 0755) == 0;
        if (!made && !outside && errno != EEXIST) return sys::errno_error(target + ": target");
        sys::UniqueFd next(openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat info = {};
        if (next && fstat(next.get(), &info) == 0 && S_ISLNK(info.st_mode))
            return sys::Error{fmt::format(
                "{}: target: '{}' is a symbolic link, which is not followed", target, name)};
        outside = outside || !next || !S_ISDIR(info.st_mode) || info.st_dev != own.st_dev;
        if (!next) break;
        at = std::move(next);
    }
    if (outside) return sys::Error{target + ": target: lies inside another mount of the job"};
    if (!made) return sys::Error{target + ": target: is used by two mounts"};
    return at;
}

sys::Result<void> bind(const job::Mount& mount, int source, int target) {
    const sys::UniqueFd tree(
        open_tree(source, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    if (!tree) return sys::errno_error("open_tree");
    struct mount_attr attributes = {};
    attributes.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if (mount.read_only) attributes.attr_set |= MOUNT_ATTR_RDONLY;
    if (mount.no_exec) attributes.attr_set |= MOUNT_ATTR_NOEXEC;
    if (mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                      sizeof attributes) != 0)
        return sys::errno_error("mount_setattr");
    if (move_mount(tree.get(), "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) !=
        0)
        return sys::errno_error("move_mount");
    return {};
}

sys::Result<void> mount_tmpfs(const job::Mount& mount, int target, const Credentials& user) {
    if (::mount("tmpfs", fd_path(target).c_str(), "tmpfs", mount_flags(mount),
                kernel_options(mount.size, user, "0700").c_str()) != 0)
        return sys::errno_error("tmpfs");
    return {};
}

// What the job writes goes to a tmpfs that the overlay itself hides, as it is mounted over it.
sys::Result<void> mount_overlay(const job::Mount& mount, int lower, int target,
                                const Credentials& user) {
    struct stat info = {};
    if (fstat(lower, &info) != 0) return sys::errno_error("overlay");
    if (auto made = mount_tmpfs(mount, target, user); !made) return made;
    // Through the target's path again: its descriptor names what lies under the new tmpfs.
    auto path = path_of(target);
    if (!path) return path.error();
    const sys::UniqueFd upper(open(path->c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!upper || mkdirat(upper.get(), "upper", 0700) != 0 ||
        mkdirat(upper.get(), "work", 0700) != 0 ||
        fchownat(upper.get(), "upper", info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW) != 0 ||
        fchmodat(upper.get(), "upper", info.st_mode & 07777, 0) != 0)
        return sys::errno_error("overlay's upper directory");
    const std::string base = fd_path(upper.get());
    const std::string options =
        fmt::format("redirect_dir=nofollow,lowerdir={},upperdir={}/upper,workdir={}/work",
                    fd_path(lower), base, base);
    if (::mount("overlay", base.c_str(), "overlay", mount_flags(mount), options.c_str()) != 0)
        return sys::errno_error("overlay");
    return {};
}

sys::Result<void> make_mount(const job::Mount& wanted, int source, int root,
                             const job::SitePolicy& policy, const Credentials& user) {
    std::string path;
    if (source >= 0) {
        auto found = path_of(source);
        if (!found) return found.error();
        path = *std::move(found);
    }
    const auto mount = approve(wanted, path, policy);
    if (!mount) return mount.error();
    const auto target = make_target(root, mount->target);
    if (!target) return target.error();
    sys::Result<void> done;
    switch (mount->type) {
        case job::MountType::bind:
            done = bind(*mount, source, target->get());
            break;
        case job::MountType::tmpfs:
            done = mount_tmpfs(*mount, target->get(), user);
            break;
        case job::MountType::overlay:
            done = mount_overlay(*mount, source, target->get(), user);
            break;
    }
    if (!done)
        return done.error().in("mounting " + (path.empty() ? "tmpfs" : path) + " at " +
                               mount->target);
    return {};
}

}  // namespace

sys::Result<void> make_mounts(const std::vector<job::Mount>& mounts,
                              const std::vector<sys::UniqueFd>& sources,
                              const job::SitePolicy& policy, const Credentials& user) {
    if (sources.size() > mounts.size()) return sys::Error{"more sources than mounts"};
    const std::string& at = policy.mount_root;
    // In this namespace, which may be Slurm's.
    const auto below = open_trusted_directory(at);
    if (!below) return below.error().in("site policy: paths.mount_root");
    if (::mount("batchai", fd_path(below->get()).c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                "mode=0755,size=1m,nr_inodes=1024") != 0)
        return sys::errno_error(at);
    const sys::UniqueFd root(open(at.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!root) return sys::errno_error(at);
    std::size_t next = 0;
    for (const auto& mount : mounts) {
        int source = -1;
        if (mount.type != job::MountType::tmpfs) {
            if (next == sources.size()) return sys::Error{mount.source + ": not opened"};
            source = sources[next++].get();
        }
        if (auto made = make_mount(mount, source, root.get(), policy, user); !made) return made;
    }
    if (::mount(nullptr, fd_path(root.get()).c_str(), nullptr,
                MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
        return sys::errno_error(at);
    return {};
}

sys::Result<sys::UniqueFd> open_source(const job::Mount& mount) {
    sys::UniqueFd source(open(mount.source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!source) return sys::errno_error(mount.source);
    return source;
}

}  // namespace batchai::spank
