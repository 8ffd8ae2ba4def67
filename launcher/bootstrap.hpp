// SPDX-License-Identifier: Apache-2.0
//
// What an agent reads from its standard input before anything else: where the root is and two keys.
// The agent shows the first to the root, the root shows the second to the agent; neither is ever in
// an argument or in the environment, where others could read it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/tree.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

struct Bootstrap {
    std::string agent_key, root_key;
    int port = 0;
    std::vector<std::string> addresses;  // of the root, to be tried in this order
    int node = -1;                       // -1: SLURM_NODEID and SLURMD_NODENAME say
    std::string name;
    std::string owned_directory;  // removed by the guard of node 0; empty: none
    Tree tree;
};

std::string random_key();
bool same_key(const std::string& a, const std::string& b);  // takes the same time for all

std::string encode(const Bootstrap&);  // one line
std::optional<Bootstrap> decode_bootstrap(const std::string& line);

// A socket listening on every address of this machine, and its port.
struct Listener {
    sys::UniqueFd fd;
    int port = 0;
};
sys::Result<Listener> listen_anywhere(bool loopback_only);

// This machine's addresses as other nodes may reach it, the likeliest first.
std::vector<std::string> own_addresses();

// Connects to the first address that answers.
sys::Result<sys::UniqueFd> connect_to(const std::vector<std::string>& addresses, int port);

}  // namespace batchai::launcher
