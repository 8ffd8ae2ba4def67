// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/mount.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/size.hpp"
#include "spank/helper/fields.hpp"
#include "spank/helper/files.hpp"
#include "spank/helper/root/kernel_mount.hpp"
#include "spank/helper/root/namespace.hpp"
#include "spank/helper/root/trusted_policy.hpp"
#include "sys/codec.hpp"
#include "sys/mount_table.hpp"
#include "sys/path_walk.hpp"
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

sys::Result<sys::UniqueFd> make_remote(const job::Mount& mount, const std::string& credentials,
                                       const job::SitePolicy& policy, const Credentials& user) {
    const job::FileSystem& entry = *entry_of(mount, policy);
    const auto secret = read_credentials(mount, entry, policy, credentials);
    if (!secret) return secret.error();
    std::optional<Login> login;
    if (entry.credentials.kind != job::CredentialsSource::Kind::none) {
        auto parsed = parse_login(*secret);
        if (!parsed) return parsed.error().in("credentials " + job::name_of(entry.credentials));
        login = *std::move(parsed);
    }
    const auto parameters = mount.type == job::MountType::nfs
                                ? nfs_parameters(mount, entry)
                                : cifs_parameters(mount, entry, user, login ? &*login : nullptr);
    if (!parameters) return parameters.error();
    return make_file_system(job::name_of(entry.type), *parameters, mount);
}

// Runs as the user. Follows no link: a user of the export may have made it.
sys::Result<Answer> open_below(const std::string& top, const std::string& directory) {
    const sys::UniqueFd from(open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!from) return sys::errno_error(top);
    sys::PathWalk how;
    how.top = from.get();
    how.check = [](const struct stat& info, const std::string& where) -> sys::Result<void> {
        if (!S_ISLNK(info.st_mode)) return {};
        return sys::Error{where + ": is a symbolic link: name the directory that it leads to"};
    };
    auto place = sys::walk(directory, how);
    if (!place) return place.error();
    if (!place->found) return sys::errno_error(place->path, ENOENT);
    if (!S_ISDIR(place->info.st_mode)) return sys::errno_error(place->path, ENOTDIR);
    Answer answer;
    answer.files.push_back(std::move(place->found));
    return answer;
}

// A mount that the policy allows, with its source and its directory open.
struct Approved {
    job::Mount mount;
    int file = -1;            // that the user's process opened; -1: none
    std::string path;         // of that file; empty: none
    std::string credentials;  // that the user's process read; empty: none
    sys::UniqueFd target;
};

// Asks no file server: the kernel knows mount and path of an open file.
sys::Result<Approved> admit(const job::Mount& wanted, int file, const job::SitePolicy& policy,
                            const sys::MountTable& table) {
    Approved approved;
    approved.file = file;
    if (file >= 0) {
        const sys::MountEntry* const at = table.of(file);
        if (at == nullptr)
            return sys::Error{wanted.target + ": the source is not on a mount of this node"};
        auto path = path_of(file);
        if (!path) return path.error();
        approved.path = *std::move(path);
        // Its server could change the image while it is mounted, and say that root owns it.
        if (wanted.kind().source == job::SourceForm::image &&
            sys::server_of(*at) != sys::Server::root)
            return sys::Error{fmt::format(
                "{}: the image is on a file system that a user may serve ({}): keep images on a "
                "file system of the node, or on a file server of the site",
                approved.path, sys::describe(*at))};
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
        auto done = put(approved);
        if (done) return done;
        const job::Mount& mount = approved.mount;
        std::string what = mount.kind().is_remote  ? mount.source
                           : approved.path.empty() ? mount.kind().name
                                                   : approved.path;
        if (mount.kind().has_program)
            what = "fuse " + entry_of(mount, policy_)->program + " " + what;
        return done.error().in("mounting " + what + " at " + mount.target);
    }

    // Shows the user's temporary directory at the path that it has on all nodes.
    sys::Result<void> show_temporary(int directory, int target,
                                     const sys::MountTable& table) const {
        const sys::MountEntry* const at = table.of(directory);
        if (at == nullptr || sys::server_of(*at) == sys::Server::user) return exchanged();
        const auto checked = as_root(seconds_left(),
                                     [&]() -> sys::Result<Answer> {
                                         struct stat info = {};
                                         if (fstat(directory, &info) != 0)
                                             return sys::errno_error("fstat");
                                         if (info.st_uid != user_.uid) return exchanged();
                                         return Answer{};
                                     },
                                     "", {directory});
        if (!checked) return checked.error().in("temporary directory");
        const auto copy = copy_tree(directory, {});
        if (!copy) return copy.error().in("temporary directory");
        if (auto attached = attach(copy->get(), target); !attached)
            return attached.error().in("temporary directory");
        return {};
    }

  private:
    using Clock = std::chrono::steady_clock;

    static sys::Error exchanged() {
        return sys::Error{"another process replaced the job's temporary directory during set-up"};
    }

    int seconds_left() const {
        const auto rest = std::chrono::ceil<std::chrono::seconds>(deadline_ - Clock::now()).count();
        return static_cast<int>(std::max<long>(rest, 1));
    }

    sys::Result<void> put(const Approved& approved) const {
        const job::Mount& mount = approved.mount;
        const int target = approved.target.get();
        switch (mount.type) {
            // These ask no server.
            case job::MountType::bind:
                return attach_made(copy_tree(approved.file, mount), target);
            case job::MountType::tmpfs:
                return attach_made(
                    make_file_system("tmpfs", tmpfs_parameters(mount.size, user_), mount), target);
            case job::MountType::fuse:
                return put_fuse(approved);
            default:
                break;
        }
        const int seconds = seconds_left();
        const auto done = as_root(seconds,
                                  [&]() -> sys::Result<Answer> {
                                      if (auto put = ask_and_put(approved, seconds); !put)
                                          return put.error();
                                      return Answer{};
                                  },
                                  "", {approved.file, target});
        return done ? sys::Result<void>() : done.error();
    }

    sys::Result<void> ask_and_put(const Approved& approved, int seconds) const {
        const job::Mount& mount = approved.mount;
        const int target = approved.target.get();
        if (mount.type == job::MountType::overlay)
            return mount_overlay(mount, approved.file, target);
        if (mount.type == job::MountType::squashfs)
            return attach_made(make_squashfs(mount, approved.file, user_, seconds), target);
        const auto done =
            attach_made(make_remote(mount, approved.credentials, policy_, user_), target);
        if (!done || mount.type != job::MountType::nfs || mount.directory.empty()) return done;
        return narrow(mount, target, seconds);
    }

    static sys::Result<void> attach_made(const sys::Result<sys::UniqueFd>& made, int target) {
        if (!made) return made.error();
        return attach(made->get(), target);
    }

    // Puts a directory of an attached mount in place of the mount. The kernel's NFS client and NFS
    // 3 servers would look the directory up with root's rights, and follow a user's link to it.
    sys::Result<void> narrow(const job::Mount& mount, int target, int seconds) const {
        const std::string& directory = mount.directory;
        const std::string top = policy_.mount_root + "/" + mount.target;
        const auto opened = as_user(
            user_, seconds, [&] { return open_below(top, directory); }, directory);
        if (!opened) return opened.error();
        const int found = opened->files.size() == 1 ? opened->files.front().get() : -1;
        const auto path = path_of(found);
        const auto table = sys::MountTable::read();
        if (!table) return table.error();
        if (!path || *path != top + "/" + directory || table->of(found) == nullptr)
            return sys::Error{directory + ": was exchanged meanwhile"};
        const auto tree = copy_tree(found, mount);
        if (!tree) return tree.error();
        if (umount2(top.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) return sys::errno_error(top);
        return attach(tree->get(), target);
    }

    sys::Result<void> put_fuse(const Approved& approved) const {
        const job::Mount& mount = approved.mount;
        const job::FileSystem& entry = *entry_of(mount, policy_);
        const auto program = policy_.programs.find(entry.program);
        if (!fuse_ || program == policy_.programs.end())
            return sys::Error{"site policy: there is no [program." + entry.program + "] here"};
        const auto secret = read_credentials(mount, entry, policy_, approved.credentials);
        if (!secret) return secret.error();
        const bool of_store = entry.credentials.kind == job::CredentialsSource::Kind::store;
        return mount_fuse({mount, entry.program, program->second.command, *secret, of_store,
                           policy_.mount_root, user_},
                          approved.target.get(), seconds_left(), *fuse_);
    }

    const job::SitePolicy& policy_;
    const Credentials& user_;
    const FuseHost* fuse_;
    Clock::time_point deadline_;
};

bool has_own_credentials(const job::Mount& mount, const job::SitePolicy& policy) {
    const auto* entry = entry_of(mount, policy);
    return entry != nullptr && entry->credentials.kind == job::CredentialsSource::Kind::user;
}

}  // namespace

sys::Result<Answer> open_sources(const std::vector<job::Mount>& mounts,
                                 const job::SitePolicy& policy) {
    Answer answer;
    Sources sources;
    for (const auto& mount : mounts) {
        if (has_own_credentials(mount, policy)) {
            auto text = sys::read_own_credentials(entry_of(mount, policy)->credentials.name);
            if (!text) return text.error();
            sources.credentials.push_back(*std::move(text));
        }
        if (!mount.kind().is_local()) continue;
        const int only = mount.kind().source == job::SourceForm::directory ? O_DIRECTORY : 0;
        answer.files.emplace_back(open(mount.source.c_str(), O_PATH | O_CLOEXEC | only));
        if (!answer.files.back()) return sys::errno_error("mount source: " + mount.source);
    }
    answer.text = sys::encode(sources);
    return answer;
}

sys::Result<Sources> sources_of(Answer answer) {
    auto sources = sys::decode_whole<Sources>(answer.text);
    if (!sources) return sys::Error{"the process with the user's rights died"};
    sources->files = std::move(answer.files);
    return *std::move(sources);
}

std::string source_names(const std::vector<job::Mount>& mounts, const job::SitePolicy& policy) {
    std::string names;
    const auto add = [&names](const std::string& name) {
        names += (names.empty() ? "" : ", ") + name;
    };
    for (const auto& mount : mounts) {
        if (mount.kind().is_local()) add("mount source " + mount.source);
        if (has_own_credentials(mount, policy))
            add("credentials " + job::name_of(entry_of(mount, policy)->credentials));
    }
    return names;
}

sys::Result<void> make_mounts(const std::vector<job::Mount>& mounts, const Sources& sources,
                              const job::SitePolicy& policy, const Credentials& user,
                              const FuseHost* fuse, int temporary) {
    auto targets = make_targets(fuse ? root_mount_source(fuse->job_temp) : "batchai");
    if (!targets) return targets.error();
    const auto table = sys::MountTable::read();
    if (!table) return table.error();
    sys::UniqueFd temporary_target;
    if (temporary >= 0) {
        auto target = targets->make(job::kTemporary);
        if (!target) return target.error();
        temporary_target = *std::move(target);
    }
    std::vector<Approved> all;
    auto file = sources.files.begin();
    auto credentials = sources.credentials.begin();
    for (const auto& mount : mounts) {
        const bool is_local = mount.kind().is_local();
        const bool has_own = has_own_credentials(mount, policy);
        if ((is_local && file == sources.files.end()) ||
            (has_own && credentials == sources.credentials.end()))
            return sys::Error{mount.target + ": not opened"};
        auto approved = admit(mount, is_local ? (file++)->get() : -1, policy, *table);
        if (!approved) return approved.error();
        if (has_own) approved->credentials = *credentials++;
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
    const Maker maker(policy, user, fuse);
    if (temporary >= 0)
        if (auto shown = maker.show_temporary(temporary, temporary_target.get(), *table); !shown)
            return shown;
    for (const auto& one : all)
        if (auto made = maker.make(one); !made) return made;
    return {};
}

}  // namespace batchai::spank
