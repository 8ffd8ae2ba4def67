// SPDX-License-Identifier: Apache-2.0
//
// `admin doctor --nodes`: runs the doctor on nodes through srun, a job for each node, and makes one
// table of what they find: equal findings are one line with the list of their nodes.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/admin/machine.hpp"
#include "launcher/cli/session.hpp"

namespace batchai::cli {

struct NodesQuestion {
    std::string nodes;  // Slurm's list of hosts
    std::string plugstack;
    std::string home;  // empty: the usual one (home.hpp)
};

struct NodeFindings {
    std::string node;
    std::vector<Finding> findings;
};

// What a node's `admin doctor --json` has printed. An error: it is no such document.
sys::Result<std::vector<Finding>> parse_findings(const std::string& json);

// Equal findings together, in the order in which they are first seen. nodes: their names.
struct Row {
    Finding finding;
    std::vector<std::string> nodes;
};
std::vector<Row> rows_of(const std::vector<NodeFindings>&);

// A warning where not all have the same site policy.
void compare_policies(std::vector<NodeFindings>&);

int ask_nodes(const Session&, const NodesQuestion&, bool json);

}  // namespace batchai::cli
