// SPDX-License-Identifier: Apache-2.0
//
// The end of a job on a node: everything that its set-up made goes.
#pragma once

#include <string>
#include <vector>

#include "spank/helper/credentials.hpp"
#include "spank/helper/fields.hpp"
#include "spank/helper/job_directory.hpp"

namespace batchai::spank {

// Notes in a state which temporary directories are to go at the end, and whose they are.
void add_owner(Fields& state, const Credentials&, const std::vector<std::string>& job_temps);

// Kills what is left in the job's namespace, ends the daemons of its FUSE mounts (daemon_notes.hpp)
// within about the seconds, and unpins it. Without a namespace of ours, the daemons only.
void end_namespace(const JobDirectory&, int seconds);

// The same, and removes the temporary directories (remove_tree.hpp) and the state's files. The
// directory remains. False: a temporary directory is still there, for it takes longer than the
// seconds or holds what the user has no right to remove; its note remains as well, for the next one
// who tries.
bool end_job(const JobDirectory&, int seconds);

// For every job whose end was begun and not finished, all together in about the seconds.
void finish_interrupted_ends(int seconds);

}  // namespace batchai::spank
