// SPDX-License-Identifier: Apache-2.0
//
// The JSON document and the table of a cluster, in the service's form, for cluster create, show and
// list.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/history/history.hpp"
#include "cli/job/jobs.hpp"
#include "cli/output/table.hpp"
#include "cli/session.hpp"

namespace batchai::cli {

// In capitals, as the service wrote sizes.
std::string vm_size_text(std::string size);

// The node counts are Slurm's at the time of the call.
sys::Result<nlohmann::json> cluster_document(Store&, const Resource&);
Table cluster_table(const nlohmann::json& documents);
int print_cluster(const Session&, Store&, const Resource&);

}  // namespace batchai::cli
