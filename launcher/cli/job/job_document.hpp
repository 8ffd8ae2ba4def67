// SPDX-License-Identifier: Apache-2.0
//
// A job as the service described it: the JSON of `job create`, `show` and `list`, with what is
// Slurm's and ours under the key "slurm".
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "launcher/cli/history/history.hpp"
#include "launcher/cli/job/execution.hpp"
#include "launcher/cli/output/table.hpp"

namespace batchai::cli {

// "/subscriptions/<s>/resourceGroups/<g>/providers/Microsoft.BatchAI/workspaces/<w>"
std::string workspace_id(const job::Identity&);
// The workspace's name in the id of what belongs to one.
std::string workspace_of(const std::string& id);

// Keys and passwords become null: the service never gave one back.
void hide_credentials(nlohmann::json&);

// snapshot: the job's document; its secrets are reported by name only. preparation: see
// preparation_progress.hpp.
nlohmann::json job_document(const JobRow&, const Execution&, const nlohmann::json& snapshot,
                            const nlohmann::json& preparation = {});
// Of such a document.
std::string tool_of(const nlohmann::json& document);
int node_count_of(const nlohmann::json& document);

// A job as a line of a table.
struct JobLine {
    job::Identity identity;
    std::int64_t slurm_id = 0;
    std::string tool;
    int nodes = 0;
    Execution execution;
    std::string preparing;  // while its nodes are at it
};

// az's columns: Name, Cluster, Cluster RG, Cluster Workspace, Tool, Nodes, State, Exit code. Then
// Slurm's: Slurm ID, Started, Ended, and Reason and Preparation if a job has one.
Table job_table(const std::vector<JobLine>&);

}  // namespace batchai::cli
