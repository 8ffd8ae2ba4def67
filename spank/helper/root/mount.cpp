// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/mount.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/size.hpp"
#include "spank/helper/fields.hpp"
#include "spank/helper/files.hpp"
#include "spank/helper/root/allowlist.hpp"
#include "spank/helper/root/kernel_mount.hpp"
#include "spank/helper/root/loop_device.hpp"
#include "spank/helper/root/namespace.hpp"
#include "spank/helper/root/network_mount.hpp"
#include "spank/helper/root/overlay.hpp"
#include "spank/helper/root/secret.hpp"
#include "sys/private_file.hpp"
#include "sys/trusted.hpp"

namespace batchai::spank {
namespace {

std::vector<Parameter> tmpfs_parameters(const std::string& size, const Credentials& user) {
    return {{"mode", "0700"},
            {"uid", std::to_string(user.uid)},
            {"gid", std::to_string(user.gid)},
            {"size", std::to_string(*job::parse_size(size))}};
}

// The directories of the job's targets, in a tmpfs of root that is attached when all exist.
class Targets {
  public:
    explicit Targets(sys::UniqueFd root) : root_(std::move(root)) {}

    // Makes and opens the directory. A target may not lie inside another one: in another mount of
    // the job, a user could exchange what leads to it.
    sys::Result<sys::UniqueFd> make(const std::string& target) {
        for (const auto& other : made_)
            if (job::is_within(target, other) && target != other)
                return sys::Error{target + ": target: lies inside another mount of the job"};
        made_.push_back(target);
        sys::UniqueFd at(fcntl(root_.get(), F_DUPFD_CLOEXEC, 3));
        bool made = false;
        for (const auto& name : split_nonempty(target, '/')) {
            if (name == "." || name == "..")
                return sys::Error{fmt::format("{}: target: must not contain '{}'", target, name)};
            made = mkdirat(at.get(), name.c_str(), 0755) == 0;
            if (!made && errno != EEXIST) return sys::errno_error(target + ": target");
            at.reset(openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            if (!at) return sys::errno_error(target + ": target");
        }
        if (!made) return sys::Error{target + ": target: is used by two mounts"};
        return at;
    }

    // Shows the directories, which stay empty and unchanged, at an open directory.
    sys::Result<void> attach_at(int directory) const {
        if (auto set = set_read_only(root_.get()); !set) return set;
        return attach(root_.get(), directory);
    }

  private:
    sys::UniqueFd root_;
    std::vector<std::string> made_;
};

// source: the tmpfs's name in lists of mounts.
sys::Result<Targets> make_targets(const std::string& source) {
    job::Mount mount;
    mount.no_exec = true;
    auto root = make_file_system(
        "tmpfs", {{"source", source}, {"mode", "0755"}, {"size", "1m"}, {"nr_inodes", "1024"}},
        mount);
    if (!root) return root.error();
    return Targets(*std::move(root));
}

// The kernel reads an image's structures as root, so a user must not be able to write them.
sys::Result<sys::UniqueFd> make_squashfs(const job::Mount& mount, int image) {
    struct stat info = {};
    if (fstat(image, &info) != 0) return sys::errno_error("squashfs");
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022) != 0)
        return sys::Error{
            "the image must be a file of root that only root can write to: chown root, chmod go-w"};
    const auto device = attach_loop(image);
    if (!device) return device.error();
    return make_file_system("squashfs", {{"source", device->path}, {"ro", "", true}}, mount);
}

// Runs in a process of its own, because a server may never answer.
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
        const auto* nfs = job::part_of<job::Nfs>(mount);
        const auto parameters = nfs != nullptr
                                    ? nfs_parameters(*nfs, entry)
                                    : cifs_parameters(*job::part_of<job::Cifs>(mount), entry, user,
                                                      login ? &*login : nullptr);
        if (!parameters) return parameters.error();
        auto remote = make_file_system(job::name_of(entry.type), *parameters, mount);
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
    if (job::part_of<job::Bind>(mount)) return copy_tree(file, mount);
    if (const auto* tmpfs = job::part_of<job::Tmpfs>(mount))
        return make_file_system("tmpfs", tmpfs_parameters(tmpfs->size, user), mount);
    if (job::part_of<job::Squashfs>(mount)) return make_squashfs(mount, file);
    return make_remote(mount, file, policy, user, seconds);
}

// A mount that the policy allows, with its source and its directory open.
struct Approved {
    job::Mount mount;
    int file = -1;     // file that the user's process opened; -1: none
    std::string path;  // of that file; empty: none, or it holds credentials
    sys::UniqueFd target;
};

sys::Result<Approved> admit(const job::Mount& wanted, int file, const job::SitePolicy& policy) {
    Approved approved;
    approved.file = file;
    if (file >= 0 && !is_in_this_namespace(file))
        return sys::Error{wanted.target + ": the source is not on a mount of this node"};
    if (file >= 0 && !job::part_of<job::Remote>(wanted)) {
        auto path = path_of(file);
        if (!path) return path.error();
        approved.path = *std::move(path);
    }
    auto mount = approve(wanted, approved.path, policy);
    if (!mount) return mount.error();
    approved.mount = *std::move(mount);
    return approved;
}

class Maker {
  public:
    Maker(const job::SitePolicy& policy, const Credentials& user, const FuseHost* fuse)
        : policy_(policy),
          user_(user),
          fuse_(fuse),
          deadline_(Clock::now() + std::chrono::seconds(policy.mount_timeout)) {}

    sys::Result<void> make(const Approved& approved) const {
        auto done = put(approved.mount, approved.file, approved.target.get());
        if (done) return done;
        const job::Mount& mount = approved.mount;
        std::string what = job::part_of<job::Remote>(mount) ? job::source_of(mount)
                           : approved.path.empty()          ? job::name_of(job::type_of(mount))
                                                            : approved.path;
        if (job::part_of<job::Fuse>(mount))
            what = "fuse " + entry_of(mount, policy_)->program + " " + what;
        return done.error().in("mounting " + what + " at " + mount.target);
    }

  private:
    using Clock = std::chrono::steady_clock;

    sys::Result<void> put(const job::Mount& mount, int file, int target) const {
        if (const auto* overlay = job::part_of<job::Overlay>(mount))
            return mount_overlay(mount, *overlay, file, target);
        const auto rest = std::chrono::ceil<std::chrono::seconds>(deadline_ - Clock::now()).count();
        const int seconds = static_cast<int>(std::max<long>(rest, 1));
        if (job::part_of<job::Fuse>(mount)) return put_fuse(mount, file, target, seconds);
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
        const bool of_store = entry.credentials.kind == job::CredentialsSource::Kind::store;
        return mount_fuse({mount, entry.program, program->second.command, *secret, of_store,
                           policy_.mount_root, user_},
                          target, seconds, *fuse_);
    }

    const job::SitePolicy& policy_;
    const Credentials& user_;
    const FuseHost* fuse_;
    Clock::time_point deadline_;
};

// Shows the user's temporary directory at the path that it has on all nodes.
sys::Result<void> show_temporary(int directory, int target, const Credentials& user) {
    struct stat info = {};
    if (fstat(directory, &info) != 0) return sys::errno_error("temporary directory");
    if (info.st_uid != user.uid || !is_in_this_namespace(directory))
        return sys::Error{"another process replaced the job's temporary directory during set-up"};
    const auto copy = copy_tree(directory, {});
    if (!copy) return copy.error().in("temporary directory");
    if (auto attached = attach(copy->get(), target); !attached)
        return attached.error().in("temporary directory");
    return {};
}

}  // namespace

sys::Result<void> make_mounts(const std::vector<job::Mount>& mounts,
                              const std::vector<sys::UniqueFd>& files,
                              const job::SitePolicy& policy, const Credentials& user,
                              const FuseHost* fuse, int temporary) {
    if (files.size() > mounts.size()) return sys::Error{"more sources than mounts"};
    auto targets = make_targets(fuse ? root_mount_source(fuse->job_temp) : "batchai");
    if (!targets) return targets.error();
    sys::UniqueFd temporary_target;
    if (temporary >= 0) {
        auto target = targets->make(job::kTemporary);
        if (!target) return target.error();
        temporary_target = *std::move(target);
    }
    std::vector<Approved> all;
    std::size_t next = 0;
    for (const auto& mount : mounts) {
        int file = -1;
        if (is_opened_by_user(mount, policy)) {
            if (next == files.size()) return sys::Error{mount.target + ": not opened"};
            file = files[next++].get();
        }
        auto approved = admit(mount, file, policy);
        if (!approved) return approved.error();
        auto target = targets->make(approved->mount.target);
        if (!target) return target.error();
        approved->target = *std::move(target);
        all.push_back(*std::move(approved));
    }
    // Mounts in the current namespace, which may be Slurm's.
    const auto root =
        sys::open_trusted(policy.mount_root, {.flags = O_PATH | O_DIRECTORY, .makes = true});
    if (!root) return root.error().in("site policy: paths.mount_root");
    if (auto attached = targets->attach_at(root->get()); !attached)
        return attached.error().in(policy.mount_root);
    if (temporary >= 0)
        if (auto shown = show_temporary(temporary, temporary_target.get(), user); !shown)
            return shown;
    const Maker maker(policy, user, fuse);
    for (const auto& one : all)
        if (auto made = maker.make(one); !made) return made;
    return {};
}

bool is_opened_by_user(const job::Mount& mount, const job::SitePolicy& policy) {
    if (!job::part_of<job::Remote>(mount)) return job::part_of<job::Local>(mount) != nullptr;
    const auto* entry = entry_of(mount, policy);
    return entry != nullptr && entry->credentials.kind == job::CredentialsSource::Kind::user;
}

sys::Result<sys::UniqueFd> open_source(const job::Mount& mount, const job::SitePolicy& policy) {
    if (job::part_of<job::Remote>(mount))
        return sys::open_own_credentials(entry_of(mount, policy)->credentials.name);
    const int flags = job::part_of<job::Squashfs>(mount) ? O_RDONLY | O_NONBLOCK | O_NOCTTY
                                                         : O_PATH | O_DIRECTORY;
    const std::string path = job::source_of(mount);
    sys::UniqueFd source(open(path.c_str(), flags | O_CLOEXEC));
    if (!source) return sys::errno_error(path);
    return source;
}

}  // namespace batchai::spank
