// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/allocation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "slurm/host_list.hpp"
#include "sys/text.hpp"

namespace batchai::launcher {
namespace {

// Slurm always sets the number of tasks that fit on the nodes. It sets the number of tasks to start
// only if the user has asked for one. In a step, both are the step's.
std::vector<int> tasks_asked(const env::Environment& environment, std::size_t nodes) {
    const auto tasks = environment.find("SLURM_TASKS_PER_NODE");
    if (tasks == environment.end() || environment.contains("SLURM_STEP_ID")) return {};
    if (!environment.contains("SLURM_NTASKS") && !environment.contains("SLURM_NTASKS_PER_NODE")) {
        return {};
    }
    std::vector<int> counts = sys::expand_counts(tasks->second);
    return counts.size() == nodes ? counts : std::vector<int>();
}

// "cyclic:block,pack": the order of the tasks over the nodes and over a node's sockets, and whether
// nodes are filled. In a step srun always sets it to the step's.
void add_distribution(Allocation& allocation, const env::Environment& environment) {
    const std::string asked = env::value_of(environment, "SLURM_DISTRIBUTION");
    if (asked.empty() || environment.contains("SLURM_STEP_ID")) return;
    const std::string order = asked.substr(0, asked.find_first_of(":,"));
    if (order == "cyclic") allocation.order = Order::cyclic;
    const bool known = order == "cyclic" || order == "block";
    allocation.ignored_distribution = asked.substr(known ? order.size() : 0);
}

// Whether the job may have asked for GPUs in another way than per node. The environment is no
// proof: a job that was submitted inside another job inherits that job's variables.
bool may_spread_gpus(const env::Environment& environment) {
    for (const char* name : {"SLURM_GPUS", "SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET",
                             "SLURM_NTASKS_PER_GPU", "SLURM_TRES_PER_TASK"}) {
        if (environment.contains(name)) return true;
    }
    return false;
}

std::string of_group(std::string_view variable, int component) {
    return fmt::format("{}_HET_GROUP_{}", variable, component);
}

std::int64_t id_of_component(const env::Environment& environment, int component) {
    const auto number =
        job::parse_number(env::value_of(environment, of_group("SLURM_JOB_ID", component)));
    return number ? number->own() : 0;
}

// The components that contain all nodes of this process's job or step. Under salloc these are all
// components, because Slurm does not say for which one the command runs.
std::vector<int> components_here(const env::Environment& environment) {
    const auto here = slurm::expand_hostlist(env::value_of(environment, "SLURM_JOB_NODELIST"));
    std::vector<int> found;
    for (int component = 0;; ++component) {
        const auto list = environment.find(of_group("SLURM_JOB_NODELIST", component));
        if (list == environment.end()) return found;
        const auto nodes = slurm::expand_hostlist(list->second);
        if (std::all_of(here.begin(), here.end(), [&nodes](const std::string& node) {
                return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
            })) {
            found.push_back(component);
        }
    }
}

// Empty: the job is not heterogeneous. Outside of a step it is the first component, as for srun. In
// a step, Slurm's variables have the component's nodes but not its number.
sys::Result<std::optional<int>> component_of(
    const env::Environment& environment,
    const std::function<sys::Result<std::int64_t>()>& ask_node) {
    if (!environment.contains("SLURM_HET_SIZE")) return std::optional<int>();
    const std::vector<int> found = components_here(environment);
    if (found.empty()) {
        return sys::Error{
            "this step is part of several components of a heterogeneous job, and batchai-launch "
            "runs on one: start it with srun --het-group=NUMBER, or without srun"};
    }
    if (found.size() == 1 || !environment.contains("SLURM_STEP_ID")) return std::optional(found[0]);
    const auto job = ask_node();
    if (!job) return job.error().in("cannot tell which component of the job this step is part of");
    for (const int component : found) {
        if (id_of_component(environment, component) == *job) return std::optional(component);
    }
    return sys::Error{"this step is part of job " + std::to_string(*job) +
                      ", which is not a component of the heterogeneous job around it"};
}

}  // namespace

std::string host_name() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    const std::string full = name.data();
    return full.substr(0, full.find('.'));
}

env::Environment of_component(env::Environment environment, int component) {
    const std::string suffix = of_group("", component);
    env::Environment own;
    for (const auto& [name, value] : environment) {
        if (!name.ends_with(suffix)) continue;
        const std::string plain = name.substr(0, name.size() - suffix.size());
        if (plain != "SLURM_JOB_ID" && plain != "SLURM_JOBID") own[plain] = value;
    }
    for (auto& [name, value] : own) environment[name] = std::move(value);
    return environment;
}

Allocation local_allocation(int nodes) {
    Allocation allocation;
    allocation.local = true;
    for (int i = 0; i < nodes; ++i) {
        allocation.nodes.push_back(fmt::format("{}-{}", host_name(), i));
    }
    return allocation;
}

sys::Result<Allocation> slurm_allocation(
    env::Environment environment, const std::function<sys::Result<std::int64_t>()>& ask_node) {
    const auto component = component_of(environment, ask_node);
    if (!component) return component.error();
    if (*component) environment = of_component(std::move(environment), **component);
    const auto job = environment.find("SLURM_JOB_ID");
    auto list = environment.find("SLURM_JOB_NODELIST");
    if (list == environment.end()) list = environment.find("SLURM_NODELIST");
    if (job == environment.end() || list == environment.end()) {
        return sys::Error{
            "no Slurm allocation here: run inside sbatch or salloc, or with --local NODES"};
    }
    // A task of srun. A rank of ours has the same variables, but it is not refused.
    const auto task = environment.find("SLURM_PROCID");
    if (task != environment.end() && task->second != "0" &&
        !environment.contains("BATCHAI_NODE_NAME"))
        return sys::Error{"srun has started this as task " + task->second +
                          ": start it once, without srun or with srun -N1 -n1"};
    Allocation allocation;
    const auto number = job::parse_number(job->second);
    if (!number) return sys::Error{"SLURM_JOB_ID is not a number: " + job->second};
    allocation.component = *component;
    allocation.job = *component
                         ? job::Number::of_component(number->own(), **component,
                                                     id_of_component(environment, **component))
                         : *number;
    allocation.nodes = slurm::expand_hostlist(list->second);
    if (allocation.nodes.empty()) return sys::Error{"SLURM_JOB_NODELIST names no node"};
    allocation.restarts = std::atoi(env::value_of(environment, "SLURM_RESTART_COUNT").c_str());
    allocation.tasks = tasks_asked(environment, allocation.nodes.size());
    add_distribution(allocation, environment);
    return allocation;
}

sys::Result<Allocation> find_allocation(const env::Environment& environment) {
    auto allocation = slurm_allocation(environment);
    if (!allocation) return allocation;
    const std::optional<int> component = allocation->component;
    const bool spread =
        may_spread_gpus(component ? of_component(environment, *component) : environment);
    if (!spread && allocation->restarts == 0) return allocation;
    const auto job = slurm::query_own_job(allocation->job.own(), allocation->restarts);
    if (!job && !spread) return allocation;
    if (!job) return job.error().in("asking Slurm for the GPUs of the job");
    allocation->restarts = job->restarts;
    if (spread) allocation->gpus = job->gpus;
    return allocation;
}

}  // namespace batchai::launcher
