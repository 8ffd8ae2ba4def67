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
#include "job/record.hpp"

namespace batchai::cli {

// "/subscriptions/<s>/resourceGroups/<g>/providers/Microsoft.BatchAI/workspaces/<w>"
std::string workspace_id(const job::Identity&);
// The workspace's name, from the id of a resource in it.
std::string workspace_of(const std::string& id);

// Sets keys and passwords to null: the service never returned one.
void hide_credentials(nlohmann::json&);

// snapshot: the job's snapshot; of its secrets only the names appear. preparation: of
// preparation_of().
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

// The progress of a job's nodes before its ranks start, which `job show` adds to the service's
// document. Pure: from the record's events (job/record.hpp).
//
// A {"node", "state", "seconds", "message"} for each node, sorted by name; null before the first
// event. state: mounted, preparing, prepared or failed. seconds: how long the job preparation has
// run so far or ran in all; null without one. message: of a failure, or of a preparation that was
// skipped; else null.
nlohmann::json preparation_of(const std::vector<job::Event>& events, const Execution&, double now);

// The nodes in state preparing.
std::vector<std::string> preparing_nodes(const nlohmann::json& preparation);

// "preparing n1, n2 and 6 more (12 s)", with the time of the slowest; empty if no node is
// preparing.
std::string preparing_text(const nlohmann::json& preparation);

// The service's documents contain every key of their model; a key without a value is null.
//
// The value with exactly the shape's keys, at every level. A missing key becomes null, or the
// shape's value if that is a scalar. The only item of an array in the shape applies to each item.
nlohmann::json shaped(const nlohmann::json& value, const nlohmann::json& shape);

// The shape of mountVolumes, of jobs and clusters.
const nlohmann::json& mount_volumes_shape();

}  // namespace batchai::cli
