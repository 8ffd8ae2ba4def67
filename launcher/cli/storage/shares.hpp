// SPDX-License-Identifier: Apache-2.0
//
// From --account-name and a share's or a container's name to a directory of this machine, by the
// site policy.
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
    job::Volume::Kind kind = job::Volume::Kind::share;
    std::string account;
    std::string share;  // or the blob container
};

// share_option: "-s,--share-name", "-c,--container-name", or "-n,--name" for the verbs about them.
void add_share_options(CLI::App&, ShareName&, const std::string& share_option);
// --account-name, and az's ways to log in to it.
void add_account_options(CLI::App&, std::string& account);

// Each runs an action, or says why it cannot: there is no policy, no such share in it, no way to
// its files from this machine. The exit code is the action's or tells that.
int with_policy_share(const ShareName&, const std::function<int(const job::VolumePolicy&)>& action);
int with_share(const ShareName&, const std::function<int(const ShareFiles&)>& action);

// The policy's shares or containers: name, and where they are on this machine.
int list_shares(const Session&, job::Volume::Kind, const std::string& account);

}  // namespace batchai::cli
