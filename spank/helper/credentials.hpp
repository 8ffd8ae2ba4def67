// SPDX-License-Identifier: Apache-2.0
//
// Work with the rights of the job's user: files that a user names are opened, read and written, and
// JSON is parsed, in a child process without root's rights. Where the helper is not root (a cluster
// inside a user namespace) it is the user already, and nothing is given up.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

// The uid nobody and the gid nogroup. No user has them.
inline constexpr unsigned kNobodyId = 65534;

// A gid that no other living process has: made of the process's own number, in a range that belongs
// to this project (batchai.toml(5)). Linux counts processes to 2^22 at most. The range ends at
// 2^31, above what directory services and containers give away.
inline constexpr gid_t kOwnGroups = 0x7fc00000;
constexpr gid_t own_group(pid_t process) {
    return kOwnGroups + static_cast<gid_t>(process);
}

struct Credentials {
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups;

    // Only the effective uid is the user's, which counts for files; the real and saved one are
    // nobody's. So the user cannot signal or trace the process, and it cannot be root again.
    // A FUSE file system without allow_other is closed to it.
    bool out_of_reach = false;
};

// What the child hands back: text (at most 1 MiB) and open files (at most kMaximumFiles).
struct Answer {
    std::string text;
    std::vector<sys::UniqueFd> files;
};
inline constexpr std::size_t kMaximumFiles = 64;

// Runs work in a child as the user and returns its answer or its error. A child that takes longer
// than the seconds is killed: a user's file may be on a dead server. what: what it works on, for
// the message then.
sys::Result<Answer> as_user(const Credentials&, int seconds,
                            const std::function<sys::Result<Answer>()>& work,
                            const std::string& what = "");

}  // namespace batchai::spank
