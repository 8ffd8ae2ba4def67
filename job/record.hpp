// SPDX-License-Identifier: Apache-2.0
//
// What happened to a job: events written by its nodes and the launcher's result, in the record
// directory (docs/architecture.md, Contracts), read by `batchai job show`.
//
// One file per node, appended with single small writes, so no two machines write one file. Call as
// the job's user.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::job {

// In place of a node's name: the event is of the job as a whole. No host is named so.
inline constexpr char kNoNode[] = "launch_";

struct Event {
    // preparing, prepared: job preparation on a node; started, finished: the ranks of a node.
    enum class Kind { mounted, preparing, prepared, started, finished, failed };
    Kind kind = Kind::failed;
    double time = 0;  // seconds since the epoch
    std::string node;
    std::string code;     // of kind failed: the service's error code, e.g. "JobPreparationFailed"
    std::string message;  // the one line
};

// Appends to <directory>/events-<node>.jsonl.
sys::Result<void> append_event(const std::string& directory, const Event&);

// All nodes' events by time. Lines that cannot be read (a torn write) are left out.
std::vector<Event> read_events(const std::string& directory);

// <directory>/result.json, written by batchai-launch when it ends.
struct JobResult {
    double start_time = 0;
    double end_time = 0;
    int exit_code = 0;
    std::string failure;       // the first failure's line; empty on success
    std::string node = {};     // where it happened; empty: no one place
    std::string details = {};  // the lines below it: process, last lines of stderr, other ranks
};
sys::Result<void> write_result(const std::string& directory, const JobResult&);
std::optional<JobResult> read_result(const std::string& directory);

// Opens a regular file in a stdouterr directory. Users share the directories above the job's own:
// an error if another user has put a link in the job's place, or in that of its stdouterr
// directory.
sys::Result<sys::UniqueFd> open_log(const std::string& path, int flags);

// The job's stdout.txt, empty, and stderr.txt with the line, for a job that has failed before its
// processes; what is in them stays. Best effort.
void leave_outputs(const std::string& directory, const std::string& line);

// Appends "2018/08/02 12:11:44 text" to a log in the stdouterr directory (created 0644).
sys::Result<void> append_execution_log(const std::string& path, const std::string& text);

}  // namespace batchai::job
