// SPDX-License-Identifier: Apache-2.0
//
// Plans a job from its file, the policy and the allocation: mounts, environment, ranks and
// commands. These are pure functions. Plugin and launcher call them with the same inputs on every
// node, so their results agree.
#pragma once

#include <string>
#include <vector>

#include "job/expand.hpp"
#include "job/mount.hpp"
#include "job/policy.hpp"
#include "job/spec.hpp"

namespace batchai::job {

// Turns the job's mountVolumes into mounts, and one of them alone.
sys::Result<Mount> plan_mount(const Volume&, const SitePolicy&);
sys::Result<std::vector<Mount>> plan_mounts(const JobSpec&, const SitePolicy&);

// An error if a job may not have so many mounts.
sys::Result<void> check_count(std::size_t mounts);

// --batchai-mount=SOURCE:TARGET[:OPTIONS][,...]; SOURCE is a kind's own (MountKind::asked),
// "PROGRAM=/path" or "volume=NAME[/directory]", OPTIONS are joined by '+': ro, rw, noexec,
// size=N[KMG]. TARGET is a path below the mount root
// (is_relative_path: never with ".."). Refused unless an [[allow]] entry covers it.
sys::Result<std::vector<Mount>> parse_mounts(const std::string& option, const SitePolicy&);

// The facts that are known on a node of an allocation.
struct NodeContext {
    std::string mount_root;          // AZ_BATCHAI_JOB_MOUNT_ROOT
    std::string job_temp;            // AZ_BATCHAI_JOB_TEMP, exists
    std::string shared_temp;         // AZ_BATCHAI_SHARED_JOB_TEMP: one directory for all nodes
    int gpus = 0;                    // the GPUs of this node
    bool is_retry = false;           // the job has run before, into the same output directories
    std::vector<std::string> hosts;  // addresses or names of the job's nodes, in order
};

// All AZ_BATCHAI_* variables that are the same for each process of a node, then the job's
// environmentVariables and secrets, expanded.
Environment job_environment(const JobSpec&, const Identity&, const NodeContext&);

// The text of $AZ_BATCHAI_MPI_HOST_FILE, in Open MPI's syntax. A node's slots are its GPUs of the
// job, or, without GPUs, the tasks that the user has asked Slurm for, or else one. The file is
// written before the preparation: by batchai-helper, or by batchai-launch where that prepares the
// job (Preparer::launcher).
struct HostSlots {
    std::string host;
    int gpus = 0;
    int tasks = 0;  // 0: the user has not asked for a number

    int slots() const { return gpus > 0 ? gpus : tasks > 0 ? tasks : 1; }
};
std::string host_file(const std::vector<HostSlots>& hosts);

// The path of the script or the configuration of a job's toolkit, for a check that it exists. Empty
// if there is none, if the path is relative, or if it may be in the image. Also empty if only a
// shell can resolve it (quotes, globs, other variables).
std::string script_path(const JobSpec&, const Environment&, const ImagePolicy&);

enum class Placement {
    spread,     // spread over the nodes, as far as each has room
    in_turn,    // one on each node in turn, after all others
    first_node  // one script on the first node, which starts others itself
};

// Processes of a job that run the same command. Variables and output may contain
//   {index}       the process's number in its group, from first_index
//   {place}       the same number, from 0
//   {hosts:A,B}   HOST:PORT of each process of the groups A and B, with commas between
//   {json:A}      the same as a JSON array
//   {first}       HOST:PORT at the node of the job's first process
//   {launch}      a text that differs for each launch
// and, in variables, $AZ_BATCHAI_ variables of the job.
struct ProcessGroup {
    std::string name;  // for {hosts:...}; often empty
    int count = 0;
    int first_index = 0;
    Placement placement = Placement::spread;
    bool is_mpi = false;  // ranks of MPI: they read what the preparation adds to ~/.bashrc
    bool serves = false;  // ends with the other groups; its own end is no failure
    std::string command;  // for `bash -c`
    Environment variables;
    std::string output;  // "wk-{index}": its output is in stdout-wk-0.txt and stderr-wk-0.txt;
                         // empty: in the job's stdout.txt and stderr.txt
};

// The processes that batchai-launch starts for a job file. Ranks are numbered in this order.
// gpus_per_node: in the allocation's node order.
std::vector<ProcessGroup> plan_launch(const JobSpec&, const SitePolicy&,
                                      const std::vector<int>& gpus_per_node);

}  // namespace batchai::job
