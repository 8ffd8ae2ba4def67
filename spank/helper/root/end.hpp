// SPDX-License-Identifier: Apache-2.0
//
// The end of a job on a node: removes everything that the job's set-up made.
#pragma once

#include <string>
#include <vector>

#include "spank/helper/credentials.hpp"
#include "spank/helper/fields.hpp"
#include "spank/helper/root/counters.hpp"
#include "spank/helper/root/job_directory.hpp"

namespace batchai::spank {

// Adds the owner to a state, and the temporary directory to remove at the end (empty: none).
void add_owner(Fields& state, const Credentials&, const std::string& job_temp);

// Kills the processes in the job's namespace, ends the daemons of its FUSE mounts
// (daemon_notes.hpp) within about the seconds, and unpins the namespace. Without a namespace of
// ours it ends only the daemons. False: there was not enough time to examine all processes of the
// node.
bool end_namespace(const JobDirectory&, int seconds);

// Does the same, and removes the temporary directory (remove_tree.hpp) and the state's files. The
// job's directory stays. An error: processes may be left, or the temporary directory still exists,
// because removal takes longer than the seconds or the user may not remove a part. The notes then
// stay for the next try.
sys::Result<void> end_job(const JobDirectory&, int daemon_seconds, int seconds);

// Starts a background process that ends every job whose end was begun and not finished. It starts
// none if there is no such job, or if one runs on this node. It does not wait for the process, so
// that no user's job waits for another user's leftovers. It prints the jobs on standard output.
//
// The process gives each job limited time, so that a user who keeps filling a directory does not
// keep it from other jobs. It repeats this after pauses of up to a minute, until nothing is left.
// It names a job that it cannot finish at once in the system's log.
//
// Call it before a job and at the start of slurmd, outside of jobs' cgroups and namespaces: the
// process would end with them. A set-up must not call it. tear_down() ends in such a process.
void finish_interrupted_ends(const Counters&);

}  // namespace batchai::spank
