// SPDX-License-Identifier: Apache-2.0
//
// cluster|job node list and node exec, alike for a cluster's nodes and a job's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/session.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

// The nodes that a verb is about, and what a command on one of them is part of.
struct NodeSet {
    std::vector<std::string> names;
    std::int64_t job = 0;   // the Slurm job that is running on them; 0: none
    std::string partition;  // where a command without a job is submitted
};
using FindNodes = std::function<sys::Result<NodeSet>()>;

// Adds "list" and "exec" to a noun whose options add_options declares. whose: the option that names
// the nodes' owner, for the examples of --help.
void add_node_verbs(CLI::App& parent, Session&, const std::string& command,
                    const std::string& whose,
                    const std::function<FindNodes(CLI::App&)>& add_options);

}  // namespace batchai::cli
