// SPDX-License-Identifier: Apache-2.0
//
// The end of a job on a node: everything that its set-up made goes.
#pragma once

#include <string>

#include "spank/helper/credentials.hpp"
#include "spank/helper/fields.hpp"
#include "spank/helper/job_directory.hpp"

namespace batchai::spank {

// Notes in a state which temporary directory is to go at the end, and whose it is.
void add_owner(Fields& state, const Credentials&, const std::string& job_temp);

// Kills what is left in the job's namespace, unpins it, removes the temporary directory
// (remove_tree.hpp) and the state's files. The directory remains.
void end_job(const JobDirectory&);

// For every job whose end was begun and not finished.
void finish_interrupted_ends();

}  // namespace batchai::spank
