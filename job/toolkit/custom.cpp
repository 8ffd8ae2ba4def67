// SPDX-License-Identifier: Apache-2.0
//
// customToolkitSettings: a command line, once, on the first node; it starts MPI itself if it wants,
// with $AZ_BATCHAI_MPI_HOST_FILE.
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

Toolkit read_custom(Reader& reader) {
    CustomToolkitSettings settings;
    settings.command_line = reader.required_string("commandLine");
    return settings;
}

LaunchPlan plan_of(const CustomToolkitSettings& settings, const SitePolicy&, int) {
    LaunchPlan plan;
    plan.ranks = 1;
    plan.placement = Placement::first_node_only;
    plan.command = settings.command_line;
    return plan;
}

}  // namespace batchai::job
