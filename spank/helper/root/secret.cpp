// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/secret.hpp"

#include <unistd.h>

#include "sys/private_file.hpp"
#include "sys/trusted.hpp"

namespace batchai::spank {
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
            if (const auto* login = job::part_of<job::AccountKey>(mount))
                return "username=" + login->account + "\npassword=" + login->key + "\n";
            break;
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
