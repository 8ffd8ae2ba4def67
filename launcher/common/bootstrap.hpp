// SPDX-License-Identifier: Apache-2.0
//
// What goes over the standard streams of an agent, a line each.
//
// Bootstrap: the first line that an agent reads from its standard input: the root's address, and
// the job's key, which protects all connections of the job (launcher/common/tls.hpp). The key is
// never in an argument or in the environment, because other users could read it there.
//
// DeathNotice: the cause of an agent's death, reported by its guard. The agent's connection to the
// root ends with the agent. So the guard writes a line to its standard error, which reaches the
// root through srun or a local agent's pipe. A node that is down sends none.
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

struct DeathNotice {
    std::string node;
    std::string sentence;  // "the agent on n2 died of SIGSEGV"

    DeathNotice(std::string of_node, int signal);
    // Parses a line that say() has made. Empty: it is another line.
    static std::optional<DeathNotice> from_line(const std::string& line);

  private:
    DeathNotice() = default;
};

}  // namespace batchai::launcher
