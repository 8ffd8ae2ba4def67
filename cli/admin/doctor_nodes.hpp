// SPDX-License-Identifier: Apache-2.0
//
// `admin doctor --nodes`: runs the doctor on each node through srun, as one job per node, and
// prints one table. Equal findings are one row with the list of their nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/admin/machine.hpp"
#include "cli/session.hpp"
#include "sys/result.hpp"

namespace batchai::cli {

struct NodesQuestion {
    std::string nodes;  // Slurm's host list
    std::string plugstack;
    std::string home;  // empty: usual_home()
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

// home.cpp: whether two machines see the same home directory. The login node and each node write a
// job's record into its user's home, so homes must be shared. Nothing is written to find out: the
// file system's data about the directory are compared.
struct HomeIdentity {
    // own: on a disk or in the memory of this machine. served: from a file server, with the
    // server's inode numbers. numbered: from a file server, with inode numbers of the client's own.
    enum class Kind { own, served, numbered };
    Kind kind = Kind::own;
    unsigned long long inode = 0;
    std::string changed;  // time of the last change, "SECONDS.NANOSECONDS"

    std::string text() const;  // "own:12:34.56", as in --home
};

sys::Result<HomeIdentity> home_identity(const std::string& directory);
std::optional<HomeIdentity> parse_home_identity(std::string_view text);

// False only if they cannot be the same directory.
bool may_be_same(const HomeIdentity&, const HomeIdentity&);

// The caller's home. For root: the home of the first ordinary user whose home is on a file server;
// empty if there is none.
std::string usual_home();

// What batchai lacks on the mount whose line of /proc/self/mountinfo has these type and options;
// empty: nothing. Locks must reach other machines (sys/file_lock.hpp).
std::string lock_trouble(const std::string& type, const std::string& options);

}  // namespace batchai::cli
