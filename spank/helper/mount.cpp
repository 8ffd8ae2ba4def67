// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/mount.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "job/size.hpp"
#include "spank/helper/allowlist.hpp"
#include "spank/helper/fields.hpp"
#include "spank/helper/files.hpp"
#include "spank/helper/kernel_mount.hpp"
#include "spank/helper/loop.hpp"
#include "spank/helper/namespace.hpp"
#include "spank/helper/network.hpp"
#include "spank/helper/secret.hpp"
#include "spank/helper/trusted.hpp"

namespace batchai::spank {
namespace {

std::string fd_path(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

std::vector<Parameter> tmpfs_parameters(const std::string& size, const Credentials& user) {
    return {{"mode", "0700"},
            {"uid", std::to_string(user.uid)},
            {"gid", std::to_string(user.gid)},
            {"size", std::to_string(*job::parse_size(size))}};
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

// What the job writes goes to a tmpfs that the overlay itself hides, as it is mounted over it.
sys::Result<void> mount_overlay(const job::Mount& mount, int lower, int target,
                                const Credentials& user) {
    struct stat info = {};
    if (fstat(lower, &info) != 0) return sys::errno_error("overlay");
    const auto upper = make_file_system("tmpfs", tmpfs_parameters(mount.size, user), mount);
    if (!upper) return upper.error();
    if (auto attached = attach(upper->get(), target); !attached) return attached;
    if (mkdirat(upper->get(), "upper", 0700) != 0 || mkdirat(upper->get(), "work", 0700) != 0 ||
        fchownat(upper->get(), "upper", info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW) != 0 ||
        fchmodat(upper->get(), "upper", info.st_mode & 07777, 0) != 0)
        return sys::errno_error("overlay's upper directory");
    const std::string base = fd_path(upper->get());
    const auto overlay = make_file_system("overlay",
                                          {{"redirect_dir", "nofollow"},
                                           {"lowerdir", fd_path(lower)},
                                           {"upperdir", base + "/upper"},
                                           {"workdir", base + "/work"}},
                                          mount);
    if (!overlay) return overlay.error();
    return attach(overlay->get(), upper->get());
}

// The kernel reads an image's structures as root: it gets none that a user can have made.
sys::Result<sys::UniqueFd> make_squashfs(const job::Mount& mount, int image) {
    struct stat info = {};
    if (fstat(image, &info) != 0) return sys::errno_error("squashfs");
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022) != 0)
        return sys::Error{"the image must be a file of root that nobody else can write to"};
    if (!is_in_this_namespace(image))
        return sys::Error{"the image is not on a mount of this node's"};
    const auto device = attach_loop(image);
    if (!device) return device.error();
    return make_file_system("squashfs", {{"source", device->path}, {"ro", "", true}}, mount);
}

// In a process of its own: a server may never answer.
sys::Result<sys::UniqueFd> make_remote(const job::Mount& mount, int file,
                                       const job::SitePolicy& policy, const Credentials& user,
                                       int seconds) {
    const job::FileSystem& entry = *entry_of(mount, policy);
    const auto secret = read_credentials(mount, entry, policy, file, user.uid);
    if (!secret) return secret.error();
    std::optional<Login> login;
    if (entry.credentials.kind != job::CredentialsSource::Kind::none) {
        auto parsed = parse_login(*secret);
        if (!parsed) return parsed.error().in("credentials " + job::name_of(entry.credentials));
        login = *std::move(parsed);
    }
    const Credentials self{geteuid(), getegid(), {}};
    auto made = as_user(self, seconds, [&]() -> sys::Result<Answer> {
        const auto parameters =
            mount.type == job::MountType::nfs
                ? nfs_parameters(mount, entry)
                : cifs_parameters(mount, entry, user, login ? &*login : nullptr);
        if (!parameters) return parameters.error();
        auto remote = make_file_system(job::name_of(mount.type), *parameters, mount);
        if (!remote) return remote.error();
        Answer answer;
        answer.files.push_back(*std::move(remote));
        return answer;
    });
    if (!made) return made.error();
    if (made->files.size() != 1) return sys::Error{"no mount was made"};
    return std::move(made->files.front());
}

sys::Result<sys::UniqueFd> make_detached(const job::Mount& mount, int file,
                                         const job::SitePolicy& policy, const Credentials& user,
                                         int seconds) {
    switch (mount.type) {
        case job::MountType::bind:
            return copy_tree(file, mount);
        case job::MountType::tmpfs:
            return make_file_system("tmpfs", tmpfs_parameters(mount.size, user), mount);
        case job::MountType::squashfs:
            return make_squashfs(mount, file);
        default:
            return make_remote(mount, file, policy, user, seconds);
    }
}

class Maker {
  public:
    Maker(int root, const job::SitePolicy& policy, const Credentials& user, const FuseHost* fuse)
        : root_(root),
          policy_(policy),
          user_(user),
          fuse_(fuse),
          deadline_(Clock::now() + std::chrono::seconds(policy.mount_timeout)) {}

    // file: what the user has opened for it, or -1.
    sys::Result<void> make(const job::Mount& wanted, int file) const {
        std::string path;
        if (file >= 0 && !job::is_remote(wanted.type)) {
            auto found = path_of(file);
            if (!found) return found.error();
            path = *std::move(found);
        }
        const auto mount = approve(wanted, path, policy_);
        if (!mount) return mount.error();
        const auto target = make_target(root_, mount->target);
        if (!target) return target.error();
        auto done = put(*mount, file, target->get());
        if (done) return done;
        std::string what = job::is_remote(mount->type) ? mount->source
                           : path.empty()              ? job::name_of(mount->type)
                                                       : path;
        if (mount->type == job::MountType::fuse)
            what = "fuse " + entry_of(*mount, policy_)->program + " " + what;
        return done.error().in("mounting " + what + " at " + mount->target);
    }

  private:
    using Clock = std::chrono::steady_clock;

    sys::Result<void> put(const job::Mount& mount, int file, int target) const {
        if (mount.type == job::MountType::overlay) return mount_overlay(mount, file, target, user_);
        const auto rest = std::chrono::ceil<std::chrono::seconds>(deadline_ - Clock::now()).count();
        const int seconds = static_cast<int>(std::max<long>(rest, 1));
        if (mount.type == job::MountType::fuse) return put_fuse(mount, file, target, seconds);
        const auto made = make_detached(mount, file, policy_, user_, seconds);
        if (!made) return made.error();
        return attach(made->get(), target);
    }

    sys::Result<void> put_fuse(const job::Mount& mount, int file, int target, int seconds) const {
        const job::FileSystem& entry = *entry_of(mount, policy_);
        const auto program = policy_.programs.find(entry.program);
        if (!fuse_ || program == policy_.programs.end())
            return sys::Error{"site policy: there is no [program." + entry.program + "] here"};
        const auto secret = read_credentials(mount, entry, policy_, file, user_.uid);
        if (!secret) return secret.error();
        return mount_fuse(
            {mount, entry.program, program->second.command, *secret, policy_.mount_root, user_},
            target, seconds, *fuse_);
    }

    int root_;
    const job::SitePolicy& policy_;
    const Credentials& user_;
    const FuseHost* fuse_;
    Clock::time_point deadline_;
};

}  // namespace

sys::Result<void> make_mounts(const std::vector<job::Mount>& mounts,
                              const std::vector<sys::UniqueFd>& files,
                              const job::SitePolicy& policy, const Credentials& user,
                              const FuseHost* fuse) {
    if (files.size() > mounts.size()) return sys::Error{"more sources than mounts"};
    const std::string& at = policy.mount_root;
    // In this namespace, which may be Slurm's.
    const auto below = open_trusted_directory(at);
    if (!below) return below.error().in("site policy: paths.mount_root");
    if (::mount("batchai", fd_path(below->get()).c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                "mode=0755,size=1m,nr_inodes=1024") != 0)
        return sys::errno_error(at);
    const sys::UniqueFd root(open(at.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!root) return sys::errno_error(at);
    const Maker maker(root.get(), policy, user, fuse);
    std::size_t next = 0;
    for (const auto& mount : mounts) {
        int file = -1;
        if (is_opened_by_user(mount, policy)) {
            if (next == files.size()) return sys::Error{mount.target + ": not opened"};
            file = files[next++].get();
        }
        if (auto made = maker.make(mount, file); !made) return made;
    }
    if (::mount(nullptr, fd_path(root.get()).c_str(), nullptr,
                MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
        return sys::errno_error(at);
    return {};
}

bool is_opened_by_user(const job::Mount& mount, const job::SitePolicy& policy) {
    if (!job::is_remote(mount.type)) return mount.type != job::MountType::tmpfs;
    const auto* entry = entry_of(mount, policy);
    return entry != nullptr && entry->credentials.kind == job::CredentialsSource::Kind::user;
}

sys::Result<sys::UniqueFd> open_source(const job::Mount& mount, const job::SitePolicy& policy) {
    if (job::is_remote(mount.type))
        return open_user_credentials(entry_of(mount, policy)->credentials.name);
    const int flags = mount.type == job::MountType::squashfs ? O_RDONLY | O_NONBLOCK | O_NOCTTY
                                                             : O_PATH | O_DIRECTORY;
    sys::UniqueFd source(open(mount.source.c_str(), flags | O_CLOEXEC));
    if (!source) return sys::errno_error(mount.source);
    return source;
}

}  // namespace batchai::spank
