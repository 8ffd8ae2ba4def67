// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/secret.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/helper/files.hpp"
#include "sys/trusted.hpp"

namespace batchai::spank {
namespace {

constexpr std::size_t kMaximum = 64 * 1024;
constexpr int kOpenFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

sys::Result<std::string> read_private_file(int file, uid_t owner, const std::string& what) {
    struct stat info = {};
    if (fstat(file, &info) != 0) return sys::errno_error(what);
    if (!S_ISREG(info.st_mode) || info.st_uid != owner || (info.st_mode & 077) != 0)
        return sys::Error{what + ": must be a file of user " + std::to_string(owner) +
                          " that nobody else can read (chmod 600)"};
    auto text = read_all(file, kMaximum);
    if (!text) return text.error().in(what);
    return text;
}

sys::Result<std::string> read_stored(const std::string& path) {
    const auto file = sys::open_trusted(path, {.flags = kOpenFlags});
    if (!file) return file.error().in("site policy: credentials");
    return read_private_file(file->get(), geteuid(), "site policy: credentials " + path);
}

// A user who can exchange the program would get the store's secret.
sys::Result<void> check_receiver(const job::FileSystem& file_system,
                                 const job::SitePolicy& policy) {
    const auto program = policy.programs.find(file_system.program);
    if (program == policy.programs.end()) return {};  // the kernel's, or said elsewhere
    const auto file = sys::open_trusted(program->second.command.front());
    if (!file)
        return file.error().in("site policy: program " + file_system.program +
                               ", which gets credentials of the store");
    return {};
}

}  // namespace

sys::Result<sys::UniqueFd> open_user_credentials(const std::string& name) {
    const passwd* entry = getpwuid(geteuid());
    if (entry == nullptr || entry->pw_dir == nullptr || entry->pw_dir[0] != '/')
        return sys::Error{"credentials user:" + name + ": the user has no home directory"};
    const std::string path = std::string(entry->pw_dir) + "/.config/batchai/credentials/" + name;
    sys::UniqueFd file(open(path.c_str(), kOpenFlags | O_NOFOLLOW | O_CLOEXEC));
    if (!file) return sys::errno_error("credentials " + path);
    return file;
}

sys::Result<std::string> read_credentials(const job::Mount& mount,
                                          const job::FileSystem& file_system,
                                          const job::SitePolicy& policy, int file, uid_t owner) {
    using Kind = job::CredentialsSource::Kind;
    const job::CredentialsSource& source = file_system.credentials;
    switch (source.kind) {
        case Kind::none:
            break;
        case Kind::job:
            if (const auto* login = job::part_of<job::AccountKey>(mount))
                return "username=" + login->account + "\npassword=" + login->key + "\n";
            break;
        case Kind::user:
            return read_private_file(file, owner, "credentials user:" + source.name);
        case Kind::store:
            if (auto trusted = check_receiver(file_system, policy); !trusted)
                return trusted.error();
            return read_stored(policy.credentials + "/" + source.name);
    }
    return std::string();
}

}  // namespace batchai::spank
