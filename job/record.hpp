// SPDX-License-Identifier: Apache-2.0
//
// The history of a job in its record directory (docs/architecture.md, Contracts): events, which the
// job's nodes write, and the launcher's result. `batchai job show` reads both.
//
// Each node appends to its own file with single small writes, so no two machines write to one file.
// Call as the job's user.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/number.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::job {

// In place of a node's name, for an event of the whole job. No host has this name.
inline constexpr char kNoNode[] = "launch_";

struct Event {
    // preparing, prepared: job preparation on a node; started, finished: the ranks of a node.
    enum class Kind { mounted, preparing, prepared, started, finished, failed };
    Kind kind = Kind::failed;
    double time = 0;  // seconds since the epoch
    std::string node;
    std::string code;     // for kind failed: the service's error code, e.g. "JobPreparationFailed"
    std::string message;  // the one line
};

// Appends to <directory>/events-<node>.jsonl.
sys::Result<void> append_event(const std::string& directory, const Event&);

// All nodes' events, sorted by time. A line that cannot be read (a torn write) is left out.
std::vector<Event> read_events(const std::string& directory);

// <directory>/slurm_job_id, the job's number in Slurm. The file holds own(), and on a second line
// the text() of a task of an array. The first writer counts: a file that exists is left as it is.
sys::Result<void> write_number(const std::string& directory, const Number&);
// None: the file does not exist yet.
Number read_number(const std::string& directory);

// <directory>/result.json, which batchai-launch writes at its end.
struct JobResult {
    double start_time = 0;
    double end_time = 0;
    int exit_code = 0;
    std::string failure;          // the first failure's line; empty on success
    std::string node = {};        // the node of the failure; empty: no single node
    std::string details = {};     // the lines below it: process, last lines of stderr, other ranks
    std::string error_file = {};  // in the stdouterr directory: the failed rank's own; often empty
};
sys::Result<void> write_result(const std::string& directory, const JobResult&);
std::optional<JobResult> read_result(const std::string& directory);

// Opens a regular file in a stdouterr directory. Users share the directories above the job's own.
// It is an error if another user has put a link in place of the job's directory or its stdouterr
// directory.
sys::Result<sys::UniqueFd> open_log(const std::string& path, int flags);

// Makes an empty stdout.txt, and a stderr.txt with the line, for a job that failed before its
// processes started. Existing files keep their text. Best effort.
void leave_outputs(const std::string& directory, const std::string& line);

// Appends "2018/08/02 12:11:44 text" to a log in the stdouterr directory (created 0644).
sys::Result<void> append_execution_log(const std::string& path, const std::string& text);

}  // namespace batchai::job
