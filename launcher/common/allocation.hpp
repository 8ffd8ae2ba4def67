// SPDX-License-Identifier: Apache-2.0
//
// The nodes of the job: those of the Slurm allocation that we run in, or this machine, which then
// stands for several nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/common/environment.hpp"
#include "launcher/common/map.hpp"
#include "launcher/common/slurm_job.hpp"
#include "sys/result.hpp"

namespace batchai::launcher {

struct Allocation {
    std::vector<std::string> nodes;
    bool local = false;
    bool reduced = false;          // some of Slurm's nodes are left out
    std::string job_id;            // Slurm's; empty when local
    int restarts = 0;              // how often Slurm had run the job before this run
    std::optional<int> component;  // of a heterogeneous job (`sbatch -N1 : -N2`)
    // Of a heterogeneous job the component's own number, by which Slurm's nodes know it; job_id is
    // the first component's, by which the user and Slurm's controller do. Otherwise both are one.
    std::string node_job_id;
    std::vector<int> tasks;  // of each node, if the user has asked for a number of them
    // --distribution of sbatch or salloc: the order of the nodes, and the part that is ignored.
    Order order = Order::block;
    std::string ignored_distribution;
    GpuRequest gpus;
};

// Of this machine, without its domain.
std::string host_name();

Allocation local_allocation(int nodes);

// From the environment that sbatch and salloc set. Among several tasks of srun only the first gets
// one: it starts the agents of all nodes. In a heterogeneous job it is one component, as for srun:
// the first, or the one of this step. `ask_node` returns the job of this process, as the node
// knows it; it is called only in a step that may be one of several components on the same nodes.
sys::Result<Allocation> slurm_allocation(
    env::Environment environment,
    const std::function<sys::Result<std::string>()>& ask_node = job_of_this_process);

// The environment of a heterogeneous job as its component would have it alone. The job's number
// stays that of the whole.
env::Environment of_component(env::Environment environment, int component);

// slurm_allocation, and what a job that was submitted inside another one would inherit from that
// one's environment: how it has asked for its GPUs, if not per node, and how often it has been
// restarted. Slurm's controller is asked if the environment speaks of either.
sys::Result<Allocation> find_allocation(const env::Environment& environment);

}  // namespace batchai::launcher
