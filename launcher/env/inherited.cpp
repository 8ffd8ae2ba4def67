// SPDX-License-Identifier: Apache-2.0
//
// What a rank inherits: not what other launchers and outer launches have set, and of Slurm the
// job's.
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "launcher/env/env.hpp"

namespace batchai::launcher::env {
namespace {

using nlohmann::json;

// The noted names and values; an empty object if the variable does not have one.
json noted(const Environment& environment) {
    json found = json::parse(value_of(environment, kOfLaunch), nullptr, false);
    return found.is_object() ? found : json::object();
}

// dump() replaces bytes that are not UTF-8. Such a value no longer matches, so it counts as the
// user's.
void set_noted(Environment& environment, const json& all) {
    environment[kOfLaunch] = all.dump(-1, ' ', true, json::error_handler_t::replace);
}

// A variable that restricts the rank also holds for launches inside it.
bool is_restriction(const std::string& name) {
    return name == "CUDA_VISIBLE_DEVICES";
}

using Prefixes = std::initializer_list<std::string_view>;

bool starts_with_any(std::string_view name, Prefixes prefixes) {
    for (std::string_view prefix : prefixes) {
        if (name.substr(0, prefix.size()) == prefix) return true;
    }
    return false;
}

// The components that pmix/server.cpp sets. The library chooses the transport (ptl).
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kServerChoices{
    {{"PMIX_MCA_psec", "native"}, {"PMIX_MCA_gds", "hash"}, {"PMIX_MCA_ptl", ""}}};

// OMPI_MCA_btl and the like are the user's tuning. Variables with these prefixes are a launcher's
// orders to its daemons.
bool is_launcher_mca(std::string_view name) {
    return starts_with_any(name, {"OMPI_MCA_orte", "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_plm",
                                  "OMPI_MCA_schizo", "OMPI_MCA_rmaps", "OMPI_MCA_state",
                                  "OMPI_MCA_grpcomm", "OMPI_MCA_odls", "OMPI_MCA_initial_wdir"});
}

bool is_foreign(std::string_view name) {
    if (starts_with_any(name, {"OMPI_MCA_"})) return is_launcher_mca(name);
    // The user's consent to an mpirun inside a rank.
    if (starts_with_any(name, {"OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"})) return false;
    if (starts_with_any(name, {"PMIX_MCA_"})) return false;
    return starts_with_any(
        name, {"PMIX_", "PMI_", "OMPI_", "PRTE_", "ORTE_", "HYDRA_", "HYDI_", "JSM_", "FLUX_",
               "SLURM_PMIX", "SLURM_CPU_BIND", "SLURM_LABELIO", "SLURM_MPI_TYPE", "TORCHELASTIC_"});
}

// These variables tell a program its rank, or the address of its rank's server.
bool is_of_rank(std::string_view name) {
    return name == "PMIX_MCA_ptl" ||
           (starts_with_any(name, {"PMIX_", "PMI_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE"}) &&
            !starts_with_any(name, {"PMIX_MCA_"}));
}

}  // namespace

void note_as_ours(Environment& environment, const std::string& name) {
    json all = noted(environment);
    all[name] = environment.at(name);
    set_noted(environment, all);
}

void note_new_as_ours(Environment& environment, const Environment& before) {
    json all = noted(environment);
    for (const auto& [name, value] : environment) {
        if (name != kOfLaunch && !before.contains(name) && !is_restriction(name)) all[name] = value;
    }
    set_noted(environment, all);
}

void leave_outer_launch(Environment& environment) {
    const json ours = noted(environment);
    for (const auto& [name, value] : ours.items()) {
        const auto found = environment.find(name);
        if (found != environment.end() && value == found->second) environment.erase(found);
    }
    environment.erase(kOfLaunch);
}

void leave_to_server(Environment& environment) {
    for (const auto& [name, value] : kServerChoices) environment.erase(std::string(name));
}

std::vector<std::string> unheeded(const Environment& environment) {
    std::vector<std::string> found;
    for (const auto& [name, choice] : kServerChoices) {
        const std::string value = value_of(environment, std::string(name));
        if (!value.empty() && value != choice) found.push_back(std::string(name) + "=" + value);
    }
    return found;
}

std::string blame_settings(const Environment& environment) {
    std::string names;
    for (const auto& [name, value] : environment) {
        if (name.starts_with("PMIX_MCA_")) names += (names.empty() ? "" : " ") + name;
    }
    return names.empty()
               ? names
               : ". The environment has settings of PMIx. Try without them: unset " + names;
}

void scrub(Environment& environment) {
    leave_to_server(environment);
    std::erase_if(environment, [](const auto& entry) { return is_foreign(entry.first); });
    leave_outer_launch(environment);
}

void make_script(Environment& environment, const Environment& slurm) {
    std::erase_if(environment, [](const auto& entry) {
        return is_of_rank(entry.first) || is_slurms(entry.first);
    });
    leave_outer_launch(environment);
    environment.insert(slurm.begin(), slurm.end());
}

bool is_slurms(const std::string& name) {
    return name.starts_with("SLURM_") || name.starts_with("SRUN_");
}

bool is_of_job(const std::string& name) {
    for (const char* start :
         {"SLURM_CONF", "SLURM_JOB_", "SLURM_SPANK_", "SLURM_SUBMIT_", "SLURM_ARRAY_",
          "SLURM_CLUSTER_NAME", "SLURM_RESTART_COUNT", "SLURM_HET_SIZE"}) {
        if (name.starts_with(start)) return true;
    }
    return false;
}

Environment slurm_of_job(const Environment& environment) {
    const bool step = environment.contains("SLURM_STEP_ID");
    Environment slurm;
    for (const auto& [name, value] : environment) {
        if (step ? is_of_job(name) : is_slurms(name)) slurm[name] = value;
    }
    if (!step) return slurm;
    // In a step, no variable has the job's number of tasks. Without a request for tasks, Slurm
    // counts one per CPU.
    for (const auto& [name, source] : {std::pair{"SLURM_JOBID", "SLURM_JOB_ID"},
                                       {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"},
                                       {"SLURM_NODELIST", "SLURM_JOB_NODELIST"},
                                       {"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}}) {
        const auto found = slurm.find(source);
        if (found != slurm.end()) slurm[name] = found->second;
    }
    return slurm;
}

Environment slurm_of_caller(Environment environment) {
    scrub(environment);
    std::erase_if(environment, [](const auto& entry) { return !is_slurms(entry.first); });
    return environment;
}

void add_slurm(Environment& environment, const RankNumbers& numbers) {
    if (!environment.contains("SLURM_JOB_ID")) return;
    const std::string size = std::to_string(numbers.size);
    environment["SLURM_PROCID"] = std::to_string(numbers.rank);
    environment["SLURM_LOCALID"] = std::to_string(numbers.local_rank);
    environment["SLURM_NODEID"] = std::to_string(numbers.node);
    environment["SLURM_GTIDS"] = numbers.local_ranks;
    environment["SLURM_NTASKS"] = size;
    environment["SLURM_NPROCS"] = size;
    environment["SLURM_STEP_NUM_TASKS"] = size;
    const bool alone = numbers.size == 1;
    if (!alone) environment["SLURM_TASKS_PER_NODE"] = numbers.ranks_per_node;
    environment["SLURM_STEP_TASKS_PER_NODE"] = numbers.ranks_per_node;
    environment["SLURM_NTASKS_PER_NODE"] = std::to_string(numbers.local_size);
    if (environment.contains("SLURM_DISTRIBUTION") || numbers.cyclic) {
        environment["SLURM_DISTRIBUTION"] = numbers.cyclic ? "cyclic" : "block";
    }
    if (numbers.node_list.empty()) return;
    environment["SLURM_STEP_NUM_NODES"] = std::to_string(numbers.nodes);
    environment["SLURM_STEP_NODELIST"] = numbers.node_list;
    if (alone) return;
    environment["SLURM_NNODES"] = std::to_string(numbers.nodes);
    environment["SLURM_NODELIST"] = numbers.node_list;
}

}  // namespace batchai::launcher::env
