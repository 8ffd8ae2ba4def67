// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/trusted_policy.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.hpp"
#include "sys/private_file.hpp"
#include "sys/trusted.hpp"

namespace batchai::spank {
namespace {
constexpr std::size_t kPolicyMaximum = 1024 * 1024;
}

sys::Result<std::string> read_trusted_policy(const std::string& file) {
    const auto opened = sys::open_trusted(file, {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY});
    if (!opened) return opened.error().in("site policy");
    struct stat info = {};
    if (fstat(opened->get(), &info) != 0) return sys::errno_error("site policy " + file);
    if (!S_ISREG(info.st_mode)) return sys::Error{"site policy " + file + ": not a regular file"};
    if ((info.st_mode & 022) != 0)  // without root's rights, open_trusted() does no checks
        return sys::Error{"site policy " + file + ": others can write to it: chmod go-w"};
    auto text = sys::read_all(opened->get(), kPolicyMaximum);
    if (!text) return text.error().in("site policy " + file);
    return text;
}

sys::Result<job::SitePolicy> parse_trusted_policy(const std::string& text,
                                                  const std::string& file) {
    auto parsed = job::parse_policy(text, file);
    if (!parsed.policy)
        return sys::Error{parsed.findings.empty() ? file + ": not a policy"
                                                  : parsed.findings.front().text()};
    parsed.policy->file = file;
    return *std::move(parsed.policy);
}

sys::Result<job::SitePolicy> load_trusted_policy(const std::string& file) {
    const auto text = read_trusted_policy(file);
    if (!text) return text.error();
    return parse_trusted_policy(*text, file);
}

namespace {

sys::Result<std::string> read_stored(const std::string& path) {
    const auto file = sys::open_trusted(path, {.flags = sys::kPrivateOpenFlags});
    if (!file) return file.error().in("site policy: credentials");
    return sys::read_private_file(file->get(), geteuid(), "site policy: credentials " + path);
}

// A user that can exchange the program could read the store's secret.
sys::Result<void> check_receiver(const job::FileSystem& file_system,
                                 const job::SitePolicy& policy) {
    const auto program = policy.programs.find(file_system.program);
    if (program == policy.programs.end())
        return {};  // a file system of the kernel, or an error reported elsewhere
    const auto file = sys::open_trusted(program->second.command.front());
    if (!file)
        return file.error().in("site policy: program " + file_system.program +
                               ", which gets credentials of the store");
    return {};
}

}  // namespace

sys::Result<std::string> read_credentials(const job::Mount& mount,
                                          const job::FileSystem& file_system,
                                          const job::SitePolicy& policy, const std::string& users) {
    using Kind = job::CredentialsSource::Kind;
    const job::CredentialsSource& source = file_system.credentials;
    switch (source.kind) {
        case Kind::none:
            break;
        case Kind::job:
            return "username=" + mount.account + "\npassword=" + mount.key + "\n";
        case Kind::user:
            return users;
        case Kind::store:
            if (auto trusted = check_receiver(file_system, policy); !trusted)
                return trusted.error();
            return read_stored(policy.credentials + "/" + source.name);
    }
    return std::string();
}

sys::Result<std::string> read_stored_secret(const job::SecretPolicy& secret,
                                            const job::SitePolicy& policy) {
    const auto text = read_stored(policy.credentials + "/" + secret.source.name);
    if (!text) return text;
    return sys::secret_of(*text, "credentials " + name_of(secret.source));
}

}  // namespace batchai::spank
