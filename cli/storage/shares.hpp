// SPDX-License-Identifier: Apache-2.0
//
// Finds the directory of a share or container on this machine, from --account-name, its name and
// the site policy.
#pragma once

#include <functional>
#include <string>

#include "cli/command_options.hpp"
#include "cli/storage/share_files.hpp"
#include "job/policy.hpp"

namespace batchai::cli {

struct ShareName {
    job::Volume::Kind kind = job::Volume::Kind::share;
    std::string account;
    std::string share;  // or the blob container
};
job::Volume volume_of(const ShareName&);

// share_option: "-s,--share-name", "-c,--container-name", or "-n,--name" for verbs about shares.
void add_share_options(CLI::App&, ShareName&, const std::string& share_option);
// Adds --account-name, and az's login options.
void add_account_options(CLI::App&, std::string& account);

// Each calls the action and returns its exit code. If it cannot, it prints why and returns an exit
// code: there is no policy, no such share in it, or this machine does not see the share's files.
int with_policy_share(const ShareName&, const std::function<int(const job::VolumePolicy&)>& action);
int with_share(const ShareName&, const std::function<int(const ShareFiles&)>& action);

// Has the verb call action(session, *args, files) with the files of the share args->share.
template <class Args>
void set_share_action(CLI::App& verb, Session& session, const std::shared_ptr<Args>& args,
                      int (*action)(const Session&, const Args&, const ShareFiles&)) {
    set_action(verb, session, args, [action](const Session& own, const Args& given) {
        return with_share(given.share,
                          [&](const ShareFiles& files) { return action(own, given, files); });
    });
}

}  // namespace batchai::cli
