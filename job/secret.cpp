// SPDX-License-Identifier: Apache-2.0
#include "job/reader.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "job/names.hpp"
#include "job/policy.hpp"

namespace batchai::job {

std::optional<SecretReference> read_secret_reference(Reader& reader, const std::string& key) {
    auto object = reader.object(key);
    if (!object) return std::nullopt;
    SecretReference reference;
    if (auto vault = object->required_object("sourceVault")) {
        const std::string id = vault->required_string("id");
        reference.vault = id.substr(id.rfind('/') + 1);
        if (!id.empty() && !is_object_name(reference.vault))
            vault->error("id", "'" + id + "' does not end in the name of a key vault");
        vault->finish();
    }
    reference.url = object->required_string("secretUrl");
    if (has_control(reference.url))
        object->error("secretUrl", "has a control character in it, such as the end of a line");
    object->finish();
    return reference;
}

std::string describe(const SecretReference& reference) {
    return "secret '" + reference.url + "' of key vault '" + reference.vault + "'";
}

sys::Result<const SecretPolicy*> resolve_secret(const SitePolicy& policy,
                                                const SecretReference& reference) {
    for (const SecretPolicy& candidate : policy.secrets)
        if (::fnmatch(candidate.vault.c_str(), reference.vault.c_str(), 0) == 0 &&
            ::fnmatch(candidate.url.c_str(), reference.url.c_str(), 0) == 0)
            return &candidate;
    return sys::Error{describe(reference) + " is unknown here: no [[secret]] of " + policy.file +
                      " names it"};
}

sys::Result<void> may_use(const SecretPolicy& secret, const SecretReference& reference,
                          const sys::UserNames& user) {
    if (secret.source.kind != CredentialsSource::Kind::store) return {};
    for (const std::string& allowed : secret.users) {
        const bool is_group = allowed.starts_with('@');
        if (!is_group && allowed == user.name) return {};
        if (is_group && std::find(user.groups.begin(), user.groups.end(), allowed.substr(1)) !=
                            user.groups.end())
            return {};
    }
    return sys::Error{describe(reference) + " is not for user " + user.name +
                      ": ask the site's admin"};
}

}  // namespace batchai::job
