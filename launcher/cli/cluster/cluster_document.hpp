// SPDX-License-Identifier: Apache-2.0
//
// A cluster as the service described it: the JSON and the table of cluster create, show and list.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "launcher/cli/history/history.hpp"
#include "launcher/cli/job/jobs.hpp"
#include "launcher/cli/output/table.hpp"
#include "launcher/cli/session.hpp"

namespace batchai::cli {

// The service wrote sizes in capitals.
std::string vm_size_text(std::string size);

// The nodes are counted as Slurm has them now.
sys::Result<nlohmann::json> cluster_document(Store&, const Resource&);
Table cluster_table(const nlohmann::json& documents);
int print_cluster(const Session&, Store&, const Resource&);

}  // namespace batchai::cli
