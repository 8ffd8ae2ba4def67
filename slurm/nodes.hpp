// SPDX-License-Identifier: Apache-2.0
//
// Partitions and nodes, as sinfo and scontrol report them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/number.hpp"
#include "sys/result.hpp"
#include "sys/subprocess.hpp"

namespace batchai::slurm {

struct Node {
    std::string name;
    std::string state;  // in sinfo's form %T: "idle", "mixed", "idle~", "down*"
};

struct Partition {
    std::string name;
    bool is_default = false;
    std::vector<Node> nodes;
    std::optional<long> time_limit;  // the partition's longest time for a job, in seconds
};

// `sinfo -h -N -o "%P|%N|%T|%l"`, in sinfo's order.
std::vector<Partition> parse_sinfo(const std::string& text);
sys::Result<std::vector<Partition>> partitions();
// The partition of that name, or the default partition if name is empty.
sys::Result<Partition> find_partition(const std::string& name);
// All partitions, also hidden ones and those without nodes.
sys::Result<std::vector<std::string>> partition_names();
// Whether Slurm can start a job on a node in that state.
bool can_run_jobs(const std::string& state);
// The number of nodes in the cluster. An error: sinfo does not answer in a few seconds.
sys::Result<std::size_t> count_nodes();

// The nodes of a running job.
sys::Result<std::vector<std::string>> nodes_of_job(const job::Number&);

// Nodes and their addresses, in Slurm's order.
using NodeAddresses = std::vector<std::pair<std::string, std::string>>;
NodeAddresses parse_node_addresses(const std::string& scontrol_show_node);
sys::Result<NodeAddresses> node_addresses(const std::vector<std::string>& names);

// Runs a command as a job of its own on a node, for at most five minutes. The job must start within
// half a minute.
sys::Result<sys::Finished> run_on_node(const std::string& node, const std::string& partition,
                                       const std::vector<std::string>& command);

}  // namespace batchai::slurm
