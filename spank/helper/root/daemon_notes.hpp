// SPDX-License-Identifier: Apache-2.0
//
// The notes about a job's daemons, cgroups and FUSE mounts on this node. They are in the job's
// directory, and each is written before the thing is made, so that the job's end finds it. A
// process is identified by its number, its start time and the boot of the machine, because another
// process may have the number later.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "spank/helper/root/job_directory.hpp"
#include "sys/result.hpp"

namespace batchai::spank {

// "PID START BOOT".
struct ProcessIdentity {
    pid_t pid = 0;
    std::string start;  // in clock ticks since the boot
    std::string boot;   // the boot's random name
};
std::string to_text(const ProcessIdentity&);
std::optional<ProcessIdentity> identity_from_text(const std::string& text);

// The start time in the text of /proc/PID/stat; empty if there is none.
std::string start_time(std::string_view stat);

// Identifies a process that cannot end during the call.
sys::Result<ProcessIdentity> identify(pid_t pid);

// True if the process with that number is the one that was identified.
bool is_alive(const ProcessIdentity&);

sys::Result<void> note_daemon(const JobDirectory&, pid_t pid);
sys::Result<void> note_cgroup(const JobDirectory&, const std::string& directory);
sys::Result<void> note_fuse_mount(const JobDirectory&, const std::string& path);

// Unmounts the job's FUSE mounts, so that the daemons write their data and end. A daemon that has
// not ended within the seconds gets SIGTERM, then SIGKILL. A job without a pinned namespace is in
// Slurm's, which Slurm removes with its mounts. Call it after the job's processes have ended and
// before the namespace is removed.
void end_daemons(const JobDirectory&, int seconds);

}  // namespace batchai::spank
