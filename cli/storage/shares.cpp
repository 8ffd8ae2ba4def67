// SPDX-License-Identifier: Apache-2.0
#include "cli/storage/shares.hpp"

#include "cli/command_options.hpp"
#include "cli/job/job_input.hpp"
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
    verb.add_option(share_option, name.share, job::kind_of(name.kind).name)->required();
    add_account_options(verb, name.account);
}

job::Volume volume_of(const ShareName& name) {
    job::Volume volume;
    volume.kind = name.kind;
    volume.account = name.account;
    volume.name = name.share;
    return volume;
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
        const std::string what = std::string(job::kind_of(name.kind).name) + " " + name.share;
        if (share.login_path.empty())
            return fail(kEnvironment, what +
                                          ": not seen from this machine: the site policy's "
                                          "entry of it has no login_path");
        const auto files = ShareFiles::open(share.login_path);
        if (!files) return fail(kEnvironment, files.error().in(what));
        return action(*files);
    });
}

}  // namespace batchai::cli
