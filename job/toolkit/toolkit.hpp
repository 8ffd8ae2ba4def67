// SPDX-License-Identifier: Apache-2.0
//
// The toolkits that run, one file each: how its settings are read and what is started for it.
// A new toolkit is a file, an alternative of job::Toolkit and a line in toolkit.cpp.
//
// Private to job/.
#pragma once

#include "job/plan.hpp"
#include "job/reader.hpp"
#include "job/spec.hpp"

namespace batchai::job {

struct ToolkitKind {
    const char* key;   // of properties: "horovodSettings"
    const char* type;  // the service's toolType: "horovod"
    Toolkit (*read)(Reader&);
};

// Toolkits in the order of the alternatives of job::Toolkit.
const std::vector<ToolkitKind>& toolkit_kinds();

// "horovodSettings, customMpiSettings, customToolkitSettings", for messages.
std::string toolkit_names();

// Toolkits that the service had and that are refused here.
const std::vector<const char*>& unsupported_toolkits();

Toolkit read_horovod(Reader&);
Toolkit read_custom_mpi(Reader&);
Toolkit read_custom(Reader&);

// default_ranks: where the file has no processCount.
LaunchPlan plan_of(const HorovodSettings&, const SitePolicy&, int default_ranks);
LaunchPlan plan_of(const CustomMpiSettings&, const SitePolicy&, int default_ranks);
LaunchPlan plan_of(const CustomToolkitSettings&, const SitePolicy&, int default_ranks);

constexpr int kMaxRanks = 1'000'000;

}  // namespace batchai::job
