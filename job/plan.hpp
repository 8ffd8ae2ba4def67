// SPDX-License-Identifier: Apache-2.0
//
// From a job, a policy and an allocation to what runs: mounts, environment, ranks and command. Pure
// functions, called with the same inputs on every node, so that the plugin and the launcher agree.
#pragma once

#include <string>
#include <vector>

#include "job/expand.hpp"
#include "job/policy.hpp"
#include "job/spec.hpp"

namespace batchai::job {

// One mount of a job on a node. target is relative to the mount root unless it is absolute.
struct Mount {
    MountType type = MountType::bind;
    std::string source;  // bind: directory; overlay: lower directory; tmpfs: empty
    std::string target;
    bool read_only = false;
    bool no_exec = false;
    std::string size;  // tmpfs and overlay
};

// The job's azureFileShares as mounts.
sys::Result<std::vector<Mount>> plan_mounts(const JobSpec&, const SitePolicy&);

// --batchai-mount=SOURCE:TARGET[:OPTIONS][,...]; SOURCE is /directory, "tmpfs" or
// "overlay=/directory", OPTIONS are joined by '+': ro, rw, noexec, size=N[KMG]. TARGET is a path
// below the mount root (is_relative_path: never with ".."). Refused unless an [[allow]] entry
// covers it.
sys::Result<std::vector<Mount>> parse_mounts(const std::string& option, const SitePolicy&);

// What is known on a node of an allocation.
struct NodeContext {
    std::string mount_root;          // AZ_BATCHAI_JOB_MOUNT_ROOT
    std::string job_temp;            // AZ_BATCHAI_JOB_TEMP, exists
    std::string shared_temp;         // AZ_BATCHAI_SHARED_JOB_TEMP: one directory for all nodes
    int gpus = 0;                    // of this node
    std::vector<std::string> hosts;  // addresses or names of the job's nodes, in order
};

// All AZ_BATCHAI_* variables, then the job's environmentVariables and secrets (expanded).
Environment job_environment(const JobSpec&, const Identity&, const NodeContext&);

// The text of $AZ_BATCHAI_MPI_HOST_FILE, in Open MPI's syntax.
std::string host_file(const std::vector<std::string>& hosts, int slots);

// Where the script of a Horovod job is, to look whether it is there; empty when there is none, when
// the path is relative, or holds what only a shell can resolve (quotes, globs, other variables).
std::string script_path(const JobSpec&, const Environment&);

enum class Placement { every_node, first_node_only };

// What batchai-launch starts for a job file.
struct LaunchPlan {
    int ranks = 0;
    Placement placement = Placement::every_node;
    std::string command;  // for `bash -c`
};

// gpus_per_node: in the allocation's node order.
LaunchPlan plan_launch(const JobSpec&, const SitePolicy&, const std::vector<int>& gpus_per_node);

}  // namespace batchai::job
