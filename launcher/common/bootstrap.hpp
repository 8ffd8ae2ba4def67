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
    std::vector<Endpoint> endpoints;  // the root's, tried in this order
    int node = -1;                    // -1: SLURM_NODEID and SLURMD_NODENAME give it
    std::string name;
    std::string job_id;           // the node must have this job's mounts; empty: not in Slurm
    std::string owned_directory;  // node 0's guard removes it; empty: none
    Tree tree;
};

std::string random_text();  // 32 random bytes, as 64 hexadecimal digits

std::string encode(const Bootstrap&);  // one line
std::optional<Bootstrap> decode_bootstrap(const std::string& line);

}  // namespace batchai::launcher
