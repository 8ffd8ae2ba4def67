// SPDX-License-Identifier: Apache-2.0
//
// `admin doctor --nodes`: runs the doctor on each node through srun, as one job per node, and
// prints one table. Equal findings are one row with the list of their nodes.
#pragma once

#include <string>
#include <vector>

#include "cli/admin/machine.hpp"
#include "cli/session.hpp"

namespace batchai::cli {

struct NodesQuestion {
    std::string nodes;  // Slurm's host list
    std::string plugstack;
    std::string home;  // empty: usual_home() (home.hpp)
};

struct NodeFindings {
    std::string node;
    std::vector<Finding> findings;
};

// Parses the output of `admin doctor --json` on a node. An error: the text is not such output.
sys::Result<std::vector<Finding>> parse_findings(const std::string& json);

// Equal findings, in the order of their first node. nodes: the names of the nodes that have it.
struct Row {
    Finding finding;
    std::vector<std::string> nodes;
};
std::vector<Row> rows_of(const std::vector<NodeFindings>&);

// Adds a warning if the nodes have different site policies.
void compare_policies(std::vector<NodeFindings>&);

int ask_nodes(const Session&, const NodesQuestion&, bool json);

}  // namespace batchai::cli
