// SPDX-License-Identifier: Apache-2.0
//
// customMpiSettings: a command line, without mpirun, on every rank.
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

Toolkit read_custom_mpi(Reader& reader) {
    CustomMpiSettings settings;
    settings.command_line = reader.required_string("commandLine");
    settings.process_count = reader.integer("processCount", 1, kMaxRanks);
    return settings;
}

LaunchPlan plan_of(const CustomMpiSettings& settings, const SitePolicy&, int default_ranks) {
    LaunchPlan plan;
    plan.ranks = settings.process_count.value_or(default_ranks);
    plan.command = settings.command_line;
    return plan;
}

}  // namespace batchai::job
