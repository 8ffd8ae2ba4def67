// SPDX-License-Identifier: Apache-2.0
//
// A job as the service described it: the JSON of `job create`, `show` and `list`.
#pragma once

#include <nlohmann/json.hpp>

#include "launcher/cli/history/history.hpp"
#include "launcher/cli/job/execution.hpp"
#include "launcher/cli/output/table.hpp"

namespace batchai::cli {

// "/subscriptions/<s>/resourceGroups/<g>/providers/Microsoft.BatchAI/workspaces/<w>"
std::string workspace_id(const job::Identity&);

// Keys and passwords become null: the service never gave one back.
void hide_credentials(nlohmann::json&);

// snapshot: the job's document; its secrets are reported by name only. preparation: see
// preparation.hpp.
nlohmann::json job_document(const JobRow&, const Execution&, const nlohmann::json& snapshot,
                            const nlohmann::json& preparation = {});

// Name, Cluster, Cluster RG, Cluster Workspace, Tool, Nodes, State, Exit code, and Preparation
// while a job is at it.
Table job_table(const nlohmann::json& documents);

}  // namespace batchai::cli
