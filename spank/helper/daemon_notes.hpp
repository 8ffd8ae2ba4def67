// SPDX-License-Identifier: Apache-2.0
//
// Which daemons, cgroups and FUSE mounts a job has on this node, for whoever ends them: noted in
// the job's directory before each comes to be. A process is known by its number, the time of its
// start and the boot of the machine: a number alone may be another process's by now.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "spank/helper/job_directory.hpp"
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

// The time of the start in the text of /proc/PID/stat; empty when there is none.
std::string start_time(std::string_view stat);

// Of a process that cannot end meanwhile.
sys::Result<ProcessIdentity> identify(pid_t pid);

// Whether the process with that number is the one that was meant.
bool is_alive(const ProcessIdentity&);

sys::Result<void> note_daemon(const JobDirectory&, pid_t pid);
sys::Result<void> note_cgroup(const JobDirectory&, const std::string& directory);
sys::Result<void> note_fuse_mount(const JobDirectory&, const std::string& path);

// Unmounts the job's FUSE mounts, so that the daemons write out what they hold and end; those that
// have not within the seconds are told to, then killed. Where the job has no pinned namespace, it
// is Slurm's, which takes it away with the mounts. To be called when the job's processes are gone,
// before its namespace is.
void end_daemons(const JobDirectory&, int seconds);

}  // namespace batchai::spank
