// SPDX-License-Identifier: Apache-2.0
//
// cluster|job node list and node exec. A cluster's nodes and a job's are treated alike.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.hpp"
#include "job/number.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

// The nodes of a verb, and the job or partition in which a command runs on one of them.
struct NodeSet {
    std::vector<std::string> names;
    job::Number job;        // the Slurm job that runs on them; may be none
    std::string partition;  // for a command without a job
};
using FindNodes = std::function<sys::Result<NodeSet>()>;

// Adds "list" and "exec" to a noun whose options add_options declares. whose: the option that names
// the job or cluster, for the examples of --help.
void add_node_verbs(CLI::App& parent, Session&, const std::string& command,
                    const std::string& whose,
                    const std::function<FindNodes(CLI::App&)>& add_options);

}  // namespace batchai::cli
