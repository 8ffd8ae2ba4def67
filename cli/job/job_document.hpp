// SPDX-License-Identifier: Apache-2.0
//
// The JSON document of a job in the service's form, for `job create`, `show` and `list`. Slurm's
// and batchai's own facts are under the key "slurm".
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/history/execution.hpp"
#include "cli/history/history.hpp"
#include "cli/output/table.hpp"

namespace batchai::cli {

// "/subscriptions/<s>/resourceGroups/<g>/providers/Microsoft.BatchAI/workspaces/<w>"
std::string workspace_id(const job::Identity&);
// The workspace's name, from the id of a resource in it.
std::string workspace_of(const std::string& id);

// Sets keys and passwords to null: the service never returned one.
void hide_credentials(nlohmann::json&);

// snapshot: the job's snapshot; of its secrets only the names appear. preparation: see
// preparation_progress.hpp.
nlohmann::json job_document(const JobRow&, const Execution&, const nlohmann::json& snapshot,
                            const nlohmann::json& preparation = {});
// From a document that job_document made.
std::string tool_of(const nlohmann::json& document);
int node_count_of(const nlohmann::json& document);

// A job as a row of a table.
struct JobLine {
    job::Identity identity;
    job::Number number;
    std::string tool;
    int nodes = 0;
    Execution execution;
    std::string preparing;  // while its nodes run the preparation
    bool deleting = false;  // its record is removed when it has ended
};

// az's columns: Name, Cluster, Cluster RG, Cluster Workspace, Tool, Nodes, State, Exit code. Then
// Experiment and Slurm's: Slurm ID, Started, Ended. Reason and Preparation only if a job has one.
Table job_table(const std::vector<JobLine>&);

}  // namespace batchai::cli
