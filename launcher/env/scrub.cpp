// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

#include "launcher/env/env.hpp"

namespace batchai::launcher::env {
namespace {

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
    if (starts_with_any(name, {"PMIX_MCA_"})) return false;
    return starts_with_any(
        name, {"PMIX_", "PMI_", "OMPI_", "PRTE_", "ORTE_", "HYDRA_", "HYDI_", "JSM_", "FLUX_",
               "SLURM_PMIX", "SLURM_CPU_BIND", "SLURM_MPI_TYPE", "TORCHELASTIC_"});
}

// These variables tell a program its rank, or the address of its rank's server.
bool is_of_rank(std::string_view name) {
    return name == "PMIX_MCA_ptl" ||
           (starts_with_any(name, {"PMIX_", "PMI_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE"}) &&
            !starts_with_any(name, {"PMIX_MCA_"}));
}

}  // namespace

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

}  // namespace batchai::launcher::env
