// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/shares.hpp"

#include "launcher/cli/options.hpp"

#include "launcher/cli/job_input.hpp"

namespace batchai::cli {

void add_share_options(CLI::App& verb, ShareName& name, const std::string& share_option) {
    verb.add_option(share_option, name.share, "share")->required();
    verb.add_option("--account-name", name.account, "storage account")
        ->envname("AZURE_STORAGE_ACCOUNT");
    ignore_options(verb, {"--account-key", "--connection-string", "--sas-token"});
}

Coded<job::SharePolicy> find_share(const ShareName& name) {
    const auto policy = load_site_policy();
    if (!policy) return {kEnvironment, policy.error()};
    job::AzureFileShare wanted;
    wanted.account = name.account;
    wanted.share = name.share;
    const auto share = job::resolve_share(*policy, wanted);
    if (!share) return {kBadInput, share.error()};
    return *share;
}

Coded<ShareFiles> open_share(const ShareName& name) {
    const auto share = find_share(name);
    if (!share) return {share.code(), share.error()};
    if (share->login_path.empty())
        return {kEnvironment,
                sys::Error{"share " + name.share + ": not seen from this machine: the site " +
                           "policy's [[share]] has no login_path"}};
    auto files = ShareFiles::open(share->login_path);
    if (!files) return {kEnvironment, files.error().in("share " + name.share)};
    return *std::move(files);
}

}  // namespace batchai::cli
