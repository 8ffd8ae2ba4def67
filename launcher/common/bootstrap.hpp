// SPDX-License-Identifier: Apache-2.0
//
// The first line that an agent reads from its standard input: the root's address, and the job's
// key, which protects all connections of the job (launcher/common/tls.hpp). The key is never in an
// argument or in the environment, because other users could read it there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/common/interfaces.hpp"
#include "launcher/common/tree.hpp"

namespace batchai::launcher {

struct Bootstrap {
    std::string key;
    std::vector<Endpoint> endpoints;  // of the root, to be tried in this order
    int node = -1;                    // -1: SLURM_NODEID and SLURMD_NODENAME say
    std::string name;
    std::string job_id;           // whose mounts the node is to have; empty: not in Slurm
    std::string owned_directory;  // removed by the guard of node 0; empty: none
    Tree tree;
};

std::string random_text();  // 32 random bytes, as 64 hexadecimal digits

std::string encode(const Bootstrap&);  // one line
std::optional<Bootstrap> decode_bootstrap(const std::string& line);

}  // namespace batchai::launcher
