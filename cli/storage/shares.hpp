// SPDX-License-Identifier: Apache-2.0
//
// Finds the directory of a share or container on this machine, from --account-name, its name and
// the site policy.
#pragma once

#include <functional>
#include <string>

#include "cli/session.hpp"
#include "cli/storage/share_files.hpp"
#include "job/policy.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

struct ShareName {
    job::Volume::Kind kind = job::Volume::Kind::share;
    std::string account;
    std::string share;  // or the blob container
};

// share_option: "-s,--share-name", "-c,--container-name", or "-n,--name" for verbs about shares.
void add_share_options(CLI::App&, ShareName&, const std::string& share_option);
// Adds --account-name, and az's login options.
void add_account_options(CLI::App&, std::string& account);

// Each calls the action and returns its exit code. If it cannot, it prints why and returns an exit
// code: there is no policy, no such share in it, or this machine does not see the share's files.
int with_policy_share(const ShareName&, const std::function<int(const job::VolumePolicy&)>& action);
int with_share(const ShareName&, const std::function<int(const ShareFiles&)>& action);

// Prints whether the policy has the share or container.
int share_exists(const Session&, const ShareName&);

// Prints the policy's shares or containers: their names and their directories on this machine.
int list_shares(const Session&, job::Volume::Kind, const std::string& account);

}  // namespace batchai::cli
