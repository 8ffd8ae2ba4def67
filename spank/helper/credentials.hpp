// SPDX-License-Identifier: Apache-2.0
//
// Credentials: whose rights a child process of the helper takes (root/child.hpp).
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "spank/helper/user_namespace.hpp"

namespace batchai::spank {

// The uid nobody and the gid nogroup. No user has them.
inline constexpr unsigned kNobodyId = 65534;

// A gid that no other living process has: the process's number plus the start of a range that
// belongs to this project (batchai.toml(5)). Linux has at most 2^22 process numbers. The range ends
// at 2^31, above the ids that directory services and containers use.
inline constexpr gid_t kOwnGroups = 0x7fc00000;
constexpr gid_t own_group(pid_t process) {
    return kOwnGroups + static_cast<gid_t>(process);
}

struct Credentials {
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups;

    // Only the effective uid, which counts for files, is the user's. The real and saved ones are
    // those of nobody. So the user cannot signal or trace the process, and the process cannot
    // become root again. It has no access to a FUSE file system without allow_other.
    bool out_of_reach = false;

    // The process is out of reach, in a user namespace with these ids, and its effective uid is 0
    // there. So it has all rights to files of the user's subordinate ids too. Only a helper that is
    // root can set it. A user with 65534 among the subordinate ids can signal the process, here and
    // without maps.
    std::optional<IdMaps> maps = std::nullopt;
};

}  // namespace batchai::spank
