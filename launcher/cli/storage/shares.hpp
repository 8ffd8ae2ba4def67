// SPDX-License-Identifier: Apache-2.0
//
// From --account-name and --share-name to a directory of this machine, by the site policy.
#pragma once

#include <functional>
#include <string>

#include "job/policy.hpp"
#include "launcher/cli/session.hpp"
#include "launcher/cli/storage/share_files.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

struct ShareName {
    std::string account;
    std::string share;
};

// share_option: "-s,--share-name", or "-n,--name" for the verb about shares themselves.
void add_share_options(CLI::App&, ShareName&, const std::string& share_option);

// Each runs an action, or says why it cannot: there is no policy, no such share in it, no way to
// its files from this machine. The exit code is the action's or tells that.
int with_policy_share(const ShareName&, const std::function<int(const job::VolumePolicy&)>& action);
int with_share(const ShareName&, const std::function<int(const ShareFiles&)>& action);

}  // namespace batchai::cli
