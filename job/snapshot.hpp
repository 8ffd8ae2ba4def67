// SPDX-License-Identifier: Apache-2.0
//
// The snapshot: the copy of a job file that runs (docs/architecture.md, Contracts). Editing the
// original after submission changes nothing.
#pragma once

#include <string>

#include "job/spec.hpp"
#include "sys/result.hpp"

namespace batchai::job {

// ${XDG_DATA_HOME:-$HOME/.local/share}/batchai, where history and records of this user live.
sys::Result<std::string> data_directory();

// Writes <data directory>/jobs/<uuid>/job.json (0600 in a 0700 directory) and returns its path.
// identity.uuid empty: a new one. text is a job.json that parse_job accepts; the placeholder is
// replaced by storage_account where that is not empty, and storage_key is the key of its shares and
// containers for which the file gives none (volumes.hpp). When text is a snapshot already and its
// file lies in the data directory, nothing is written and file_name is returned; a copy of a
// snapshot becomes a new job, with a uuid of its own.
sys::Result<std::string> write_snapshot(const std::string& text, const std::string& file_name,
                                        Identity identity, const std::string& storage_account,
                                        const std::string& storage_key = {});

// The snapshot of one task of a job array: beside the array's, with the uuid <uuid>-<task>, so that
// each task has a record and an output directory of its own. Returns its path. All nodes of the
// task may write it.
sys::Result<std::string> write_task_snapshot(const std::string& snapshot, unsigned task);

}  // namespace batchai::job
