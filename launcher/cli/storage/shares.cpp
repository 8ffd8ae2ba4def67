// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/storage/shares.hpp"

#include "launcher/cli/command_options.hpp"

#include "launcher/cli/job/job_input.hpp"

namespace batchai::cli {

void add_share_options(CLI::App& verb, ShareName& name, const std::string& share_option) {
    verb.add_option(share_option, name.share, "share")->required();
    verb.add_option("--account-name", name.account, "storage account")
        ->envname("AZURE_STORAGE_ACCOUNT");
    ignore_options(verb, {"--account-key", "--connection-string", "--sas-token"});
}

int with_policy_share(const ShareName& name,
                      const std::function<int(const job::VolumePolicy&)>& action) {
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    job::Volume wanted;
    wanted.account = name.account;
    wanted.name = name.share;
    const auto share = job::resolve_volume(*policy, wanted);
    if (!share) return fail(kBadInput, share.error());
    return action(**share);
}

int with_share(const ShareName& name, const std::function<int(const ShareFiles&)>& action) {
    return with_policy_share(name, [&](const job::VolumePolicy& share) {
        if (share.login_path.empty())
            return fail(kEnvironment, "share " + name.share + ": not seen from this machine: the " +
                                          "site policy's [[share]] has no login_path");
        const auto files = ShareFiles::open(share.login_path);
        if (!files) return fail(kEnvironment, files.error().in("share " + name.share));
        return action(*files);
    });
}

}  // namespace batchai::cli
