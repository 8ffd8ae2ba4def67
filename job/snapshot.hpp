// SPDX-License-Identifier: Apache-2.0
//
// The snapshot: the copy of a job file that runs (docs/architecture.md, Contracts). A later change
// of the original does not change the job.
#pragma once

#include <string>

#include "job/launch_options.hpp"
#include "job/spec.hpp"
#include "sys/result.hpp"

namespace batchai::job {

// ${XDG_DATA_HOME:-$HOME/.local/share}/batchai, which contains this user's history and records.
sys::Result<std::string> data_directory();

// Writes <data directory>/jobs/<uuid>/job.json (0600 in a 0700 directory) and returns its path. An
// empty identity.uuid makes a new one. The job file must be without errors. If storage_account is
// not empty, it replaces the placeholder, and storage_key is the key of its shares and containers
// without a key in the file (volumes.hpp). launch: what `batchai` gives batchai-launch, for job
// show.
//
// If the job file is a snapshot already and its file is in the data directory, nothing is written
// and file_name is returned. A copy of a snapshot becomes a new job, with a uuid of its own.
sys::Result<std::string> write_snapshot(const ParsedJob&, const std::string& file_name,
                                        Identity identity, const std::string& storage_account,
                                        const std::string& storage_key = {},
                                        const LaunchOptions& launch = {});

// Marks the record of a job that was handed to sbatch and whose number is not known yet. `batchai`
// asks Slurm for the number and removes the file.
inline constexpr char kSubmittingFile[] = "submitting";

// The comment of a job in Slurm: "batchai:GROUP/WORKSPACE/EXPERIMENT/NAME", and "/UUID" if the
// identity has one. By it a waiting job finds its record.
std::string comment_of(const Identity&);
// Empty: the comment has none.
std::string uuid_of_comment(const std::string& comment);

// The snapshot of one task of a job array. It is beside the array's snapshot, with the uuid
// <uuid>-<task>, so that each task has a record and an output directory of its own. Returns its
// path. All nodes of the task may write it.
sys::Result<std::string> write_task_snapshot(const std::string& snapshot, unsigned task);

}  // namespace batchai::job
