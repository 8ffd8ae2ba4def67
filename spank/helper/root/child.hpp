// SPDX-License-Identifier: Apache-2.0
//
// The helper's child processes: for work with the rights of the job's user, and for whatever may
// wait for a file server.
//
// A user's file may be on a server that does not answer, and SIGKILL does not end a process that
// has asked it. If the helper itself asked, it would outlive its job, and Slurm would drain the
// node. So root asks nothing about a file that a user's process has opened, except the number of
// its mount (sys/mount_table.hpp) and its path: every other question, and each mount that the
// kernel makes of such a file, is work for as_root(). Sources arrive as O_PATH descriptors, because
// close(2) of any other one asks the server too.
//
// A child that does not end in time is killed and left behind: it ends when the server answers or
// ends. It is in a cgroup beside those of Slurm's jobs, so no step and no node waits for it. It
// moves there before its work if a user serves files on the node, and else if the work takes more
// than 100 ms.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "spank/helper/credentials.hpp"
#include "sys/pass_files.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

// The result of the child: text (at most 1 MiB) and open files (at most kMaximumFiles).
struct Answer {
    std::string text;
    std::vector<sys::UniqueFd> files;
};
inline constexpr std::size_t kMaximumFiles = sys::kMostPassed;

// Runs work in a child as the user and returns its answer or its error, or an error after so many
// seconds. what: the object of the work, for the message about the time limit. kept: the
// descriptors that the work uses, under their numbers; the child has no other one of ours.
//
// If the helper is not root (a cluster inside a user namespace), it is the user already, and the
// child changes nothing.
sys::Result<Answer> as_user(const Credentials&, int seconds,
                            const std::function<sys::Result<Answer>()>& work,
                            const std::string& what = "", const std::vector<int>& kept = {});

// The same with the helper's own rights.
sys::Result<Answer> as_root(int seconds, const std::function<sys::Result<Answer>()>& work,
                            const std::string& what = "", const std::vector<int>& kept = {});

// Closes all descriptors of this process except the standard ones and these: a process of the user
// must not have root's open files.
void close_all_but(std::vector<int> kept);

}  // namespace batchai::spank
