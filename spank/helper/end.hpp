// SPDX-License-Identifier: Apache-2.0
//
// The end of a job on a node: everything that its set-up made goes.
#pragma once

#include <string>
#include <vector>

#include "spank/helper/counters.hpp"
#include "spank/helper/credentials.hpp"
#include "spank/helper/fields.hpp"
#include "spank/helper/job_directory.hpp"

namespace batchai::spank {

// Notes in a state which temporary directory is to go at the end (empty: none), and whose it is.
void add_owner(Fields& state, const Credentials&, const std::string& job_temp);

// Kills what is left in the job's namespace, ends the daemons of its FUSE mounts (daemon_notes.hpp)
// within about the seconds, and unpins it. Without a namespace of ours, the daemons only. False:
// not all processes of the node could be looked at in time.
bool end_namespace(const JobDirectory&, int seconds);

// The same, and removes the temporary directory (remove_tree.hpp) and the state's files. The job's
// directory remains. False: there may be processes left, or the temporary directory is still there,
// because it takes longer than the seconds or holds what the user has no right to remove. The notes
// remain then, for the next try.
bool end_job(const JobDirectory&, int daemon_seconds, int seconds);

// Starts a process that does the same for every job whose end was begun and not finished, if there
// is such a job and no such process on this node. Does not wait for it: no job of one user waits
// for what another one has left. To be called outside of jobs' cgroups and namespaces, with which
// the process would end: by the end of a job and the start of slurmd, not by a set-up. Names the
// jobs on standard output.
void finish_interrupted_ends(const Counters&);

}  // namespace batchai::spank
