// SPDX-License-Identifier: Apache-2.0
//
// Runs work with the rights of the job's user, in a child process: it opens, reads and writes files
// that a user names, and parses JSON. If the helper is not root (a cluster inside a user
// namespace), it is the user already and changes nothing.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spank/helper/user_namespace.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

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

// The result of the child: text (at most 1 MiB) and open files (at most kMaximumFiles).
struct Answer {
    std::string text;
    std::vector<sys::UniqueFd> files;
};
inline constexpr std::size_t kMaximumFiles = 64;

// Runs work in a child as the user and returns its answer or its error. A child that takes longer
// than the seconds is killed, because a user's file may be on a dead server. what: the object of
// the work, for the message about the time limit.
sys::Result<Answer> as_user(const Credentials&, int seconds,
                            const std::function<sys::Result<Answer>()>& work,
                            const std::string& what = "");

}  // namespace batchai::spank
