// SPDX-License-Identifier: Apache-2.0
//
// The nodes of the job: the nodes of the Slurm allocation, or with --local this machine, which then
// stands for several nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/number.hpp"
#include "launcher/common/environment.hpp"
#include "launcher/common/map.hpp"
#include "slurm/own_job.hpp"
#include "sys/result.hpp"

namespace batchai::launcher {

struct Allocation {
    std::vector<std::string> nodes;
    bool local = false;
    bool reduced = false;  // some of Slurm's nodes are left out
    // In a heterogeneous job it is the component's: slurmd knows own(), slurmctld and the user know
    // whole(). A task of an array has only own() here (see slurm::query_own_job). None when local.
    job::Number job;
    int restarts = 0;              // number of earlier runs of the job in Slurm
    std::optional<int> component;  // of a heterogeneous job (`sbatch -N1 : -N2`)
    std::vector<int> tasks;        // for each node, if the user has asked for a number of tasks
    // --distribution of sbatch or salloc: the order of the nodes, and the part that has no effect.
    Order order = Order::block;
    std::string ignored_distribution;
    slurm::GpuRequest gpus;
};

// The name of this machine, without its domain.
std::string host_name();

Allocation local_allocation(int nodes);

// From the environment that sbatch and salloc set. Of several tasks of srun only the first one gets
// an allocation, because one launcher starts the agents of all nodes. In a heterogeneous job it is
// one component, as for srun: the first, or the one of this step. `ask_node` returns the number by
// which the node knows this process's job. It is called only in a step that may belong to one of
// several components on the same nodes.
sys::Result<Allocation> slurm_allocation(
    env::Environment environment,
    const std::function<sys::Result<std::int64_t>()>& ask_node = slurm::job_of_this_process);

// The environment of a heterogeneous job, reduced to one component. The job's number stays that of
// the whole job.
env::Environment of_component(env::Environment environment, int component);

// slurm_allocation, corrected for a job that was submitted inside another job and has inherited its
// environment: the request for GPUs (if not per node) and the number of restarts. slurmctld is
// asked only if the environment has such variables.
sys::Result<Allocation> find_allocation(const env::Environment& environment);

}  // namespace batchai::launcher
