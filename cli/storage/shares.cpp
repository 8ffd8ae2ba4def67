// SPDX-License-Identifier: Apache-2.0
#include "cli/storage/shares.hpp"

#include <fnmatch.h>

#include "cli/command_options.hpp"
#include "cli/job/job_input.hpp"
#include "cli/output/result_table.hpp"
#include "cli/policy/policy_entries.hpp"

namespace batchai::cli {

void add_account_options(CLI::App& verb, std::string& account) {
    verb.add_option("--account-name", account, "storage account")
        ->transform(kLastOfId)
        ->envname("AZURE_STORAGE_ACCOUNT");
    ignore_options(
        verb, {"--account-key", "--connection-string", "--sas-token", "--auth-mode", "--timeout"});
}

void add_share_options(CLI::App& verb, ShareName& name, const std::string& share_option) {
    verb.add_option(share_option, name.share, job::name_of(name.kind))->required();
    add_account_options(verb, name.account);
}

namespace {

job::Volume volume_of(const ShareName& name) {
    job::Volume volume;
    volume.kind = name.kind;
    volume.account = name.account;
    volume.name = name.share;
    return volume;
}

}  // namespace

int share_exists(const Session& session, const ShareName& name) {
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    const bool exists = job::resolve_volume(*policy, volume_of(name)).has_value();
    return session.print({{"exists", exists}});
}

int with_policy_share(const ShareName& name,
                      const std::function<int(const job::VolumePolicy&)>& action) {
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    const job::Volume wanted = volume_of(name);
    const auto share = job::resolve_volume(*policy, wanted);
    if (share) return action(**share);
    fail(kBadInput, share.error());
    print_missing_entries(*policy, {volume_entry(wanted)});
    return kBadInput;
}

int with_share(const ShareName& name, const std::function<int(const ShareFiles&)>& action) {
    return with_policy_share(name, [&](const job::VolumePolicy& share) {
        const std::string what = job::name_of(name.kind) + " " + name.share;
        if (share.login_path.empty())
            return fail(kEnvironment, what +
                                          ": not seen from this machine: the site policy's "
                                          "entry of it has no login_path");
        const auto files = ShareFiles::open(share.login_path);
        if (!files) return fail(kEnvironment, files.error().in(what));
        return action(*files);
    });
}

int list_shares(const Session& session, job::Volume::Kind kind, const std::string& account) {
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    auto result = nlohmann::json::array();
    for (const job::VolumePolicy& share : policy->volumes) {
        const bool of_account =
            account.empty() || ::fnmatch(share.account.c_str(), account.c_str(), 0) == 0;
        if (share.kind != kind || !of_account) continue;
        const nlohmann::json path =
            share.login_path.empty() ? nlohmann::json() : nlohmann::json(share.login_path);
        result.push_back({{"metadata", nullptr},
                          {"name", share.name},
                          {"properties", {{"lastModified", nullptr}, {"quota", nullptr}}},
                          {"slurm", {{"account", share.account}, {"loginPath", path}}}});
    }
    return session.print(result, [](const nlohmann::json& rows) {
        return table_of(
            rows,
            {{"Name", "name"}, {"Account", "slurm/account"}, {"Path here", "slurm/loginPath"}});
    });
}

}  // namespace batchai::cli
