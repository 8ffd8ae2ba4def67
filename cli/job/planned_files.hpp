// SPDX-License-Identifier: Apache-2.0
//
// The files that a job writes into its stdouterr directory, by its plan. `job file stream` compares
// a name with them, because it would wait to the job's end for a file that no process writes.
#pragma once

#include <string>

#include "job/policy.hpp"
#include "job/spec.hpp"

namespace batchai::cli {

// The files of the same kind as name (standard output, standard error, execution logs), as text:
// "stdout-0.txt to stdout-3.txt". Empty: the job may write a file of that name, or name is of no
// such kind.
std::string files_instead_of(const std::string& name, const job::JobSpec&, const job::SitePolicy&);

}  // namespace batchai::cli
