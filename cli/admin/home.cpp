// SPDX-License-Identifier: Apache-2.0
#include "cli/admin/doctor_nodes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cli/admin/machine.hpp"
#include "sys/mount_table.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::cli {
namespace {

constexpr std::array kKindNames = {"own", "served", "numbered"};

// The uids of ordinary users (UID_MIN and UID_MAX of login.defs(5)).
constexpr uid_t kFirstUser = 1000;
constexpr uid_t kLastUser = 60000;

HomeIdentity::Kind kind_of_home(long type) {
    constexpr long kZfs = 0x2fc12fc1;
    switch (type) {
        case EXT4_SUPER_MAGIC:
        case XFS_SUPER_MAGIC:
        case BTRFS_SUPER_MAGIC:
        case TMPFS_MAGIC:
        case OVERLAYFS_SUPER_MAGIC:
        case kZfs:
            return HomeIdentity::Kind::own;
        case CIFS_SUPER_MAGIC:
        case SMB2_SUPER_MAGIC:
        case FUSE_SUPER_MAGIC:
            return HomeIdentity::Kind::numbered;
        default:
            return HomeIdentity::Kind::served;
    }
}

bool has(const std::string& options, const std::string& option) {
    return ("," + options + ",").find("," + option + ",") != std::string::npos;
}

// lock_trouble of the mount that has the directory.
std::string lock_trouble_at(const std::string& directory) {
    const sys::UniqueFd home(::open(directory.c_str(), O_PATH | O_CLOEXEC));
    const auto table = sys::MountTable::read();
    const sys::MountEntry* const at = home && table ? table->of(home.get()) : nullptr;
    return at == nullptr ? "" : lock_trouble(at->type, at->options);
}

void check_home(const Machine& machine, Report& report) {
    if (machine.home.empty()) return;
    const std::size_t equals = machine.home.rfind('=');
    const std::string directory = machine.home.substr(0, equals);
    const auto here = home_identity(directory);
    if (!here)
        return report.error(here.error().message +
                            ": jobs of this user cannot keep their "
                            "record (~/.local/share/batchai)");
    if (equals != std::string::npos) {
        const auto there = parse_home_identity(machine.home.substr(equals + 1));
        if (there && !may_be_same(*here, *there))
            return report.error(directory +
                                ": is not the directory of the machine that runs the doctor: jobs "
                                "keep their record there (~/.local/share/batchai)");
    }
    if (const std::string trouble = lock_trouble_at(directory); !trouble.empty())
        return report.warning(directory + ": " + trouble);
    report.ok(directory);
}

}  // namespace

std::string lock_trouble(const std::string& type, const std::string& options) {
    if (type == "lustre" && !has(options, "flock") && !has(options, "localflock"))
        return "is mounted without file locks (Lustre without flock): batchai's commands fail";
    for (const char* option : {"nolock", "local_lock=all", "local_lock=posix", "localflock"})
        if ((type.starts_with("nfs") || type == "lustre") && has(options, option))
            return std::string("is mounted with ") + option +
                   ": batchai on two machines at once may damage its history of jobs";
    return {};
}

std::string HomeIdentity::text() const {
    return fmt::format("{}:{}:{}", kKindNames[static_cast<std::size_t>(kind)], inode, changed);
}

sys::Result<HomeIdentity> home_identity(const std::string& directory) {
    // Root must not follow a symbolic link that a user has put in place of a home.
    const int follow = ::geteuid() == 0 ? O_NOFOLLOW : 0;
    const sys::UniqueFd home(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | follow));
    if (!home) return sys::errno_error(directory);
    // A user's FUSE server need not answer root.
    const auto table = sys::MountTable::read();
    const sys::MountEntry* const at = table ? table->of(home.get()) : nullptr;
    if (follow != 0 && at != nullptr && sys::server_of(*at) == sys::Server::user)
        return sys::Error{directory + ": is on a file server of a user (" + sys::describe(*at) +
                          ")"};
    struct stat info = {};
    struct statfs file_system = {};
    if (::fstat(home.get(), &info) != 0 || ::fstatfs(home.get(), &file_system) != 0)
        return sys::errno_error(directory);
    return HomeIdentity{kind_of_home(file_system.f_type), info.st_ino,
                        fmt::format("{}.{:09}", info.st_ctim.tv_sec, info.st_ctim.tv_nsec)};
}

std::optional<HomeIdentity> parse_home_identity(std::string_view text) {
    const std::size_t first = text.find(':');
    const std::size_t second = text.find(':', first + 1);
    if (first == text.npos || second == text.npos) return std::nullopt;
    HomeIdentity identity;
    const auto kind = std::ranges::find(kKindNames, text.substr(0, first));
    const std::string_view inode = text.substr(first + 1, second - first - 1);
    const auto [end, code] =
        std::from_chars(inode.data(), inode.data() + inode.size(), identity.inode);
    if (kind == kKindNames.end() || code != std::errc() || end != inode.data() + inode.size())
        return std::nullopt;
    identity.kind = static_cast<HomeIdentity::Kind>(kind - kKindNames.begin());
    identity.changed = text.substr(second + 1);
    return identity;
}

// The asking machine may be the file server itself (kind own). A client may have cached an old time
// of change.
bool may_be_same(const HomeIdentity& a, const HomeIdentity& b) {
    if (a.kind == HomeIdentity::Kind::numbered || b.kind == HomeIdentity::Kind::numbered)
        return true;
    if (a.inode != b.inode) return false;
    return a.kind != HomeIdentity::Kind::own || b.kind != HomeIdentity::Kind::own ||
           a.changed == b.changed;
}

std::string usual_home() {
    if (::geteuid() != 0) {
        const passwd* self = ::getpwuid(::geteuid());
        return self != nullptr ? self->pw_dir : "";
    }
    std::string found;
    ::setpwent();
    while (const passwd* user = ::getpwent()) {
        if (user->pw_uid < kFirstUser || user->pw_uid > kLastUser) continue;
        // A home on a local disk may belong to a local account, such as an admin's.
        const auto identity = home_identity(user->pw_dir);
        if (!identity || identity->kind == HomeIdentity::Kind::own) continue;
        found = user->pw_dir;
        break;
    }
    ::endpwent();
    return found;
}

std::vector<Check> home_checks() {
    return {{"homes", "whether --home is the directory of the machine that runs the doctor",
             "Mount the users' home directories on login and compute nodes, with file locks",
             check_home}};
}

}  // namespace batchai::cli
