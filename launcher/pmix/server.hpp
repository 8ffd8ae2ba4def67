// SPDX-License-Identifier: Apache-2.0
//
// Server: the PMIx server of one node. Start it, register the job, ask for the environment of each
// rank, and pass the answers of other nodes on through fence.hpp, dmodex.hpp and publish.hpp.
//
// The library is a singleton of the process, with one thread of its own. SIGCHLD must be blocked
// before start() so that this thread never takes it.
//
// The server does not finalize the library and does not deregister the job. Its process ends with
// it, and the library's files are in the directories given here. The reason: a rank that is killed
// while it connects leaves freed memory in the library's lists, because the connection handler
// releases the rank's entry twice (4.2.2 to 5.0.6). Both calls would then wait for ever for a lock
// in that memory.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "launcher/common/map.hpp"
#include "launcher/pmix/box.hpp"
#include "launcher/pmix/host.hpp"
#include "sys/result.hpp"

struct hwloc_topology;

namespace batchai::launcher::pmix {

struct ServerOptions {
    std::string node;              // must be the name used in the RankMap
    int index = 0;                 // of the agent
    std::string server_directory;  // private to the library
    std::string client_directory;  // session directory of the ranks; never the same
    hwloc_topology* topology;      // lives as long as the process; null: the library looks itself
};

// The job as the library must know it on this node.
struct JobInfo {
    std::string nspace;
    RankMap map;
    int node = 0;
    std::string directory;             // working directory
    std::string command;               // for show only
    std::vector<std::string> cpusets;  // of the local ranks, as lists ("0-3"); empty: not bound
    std::string
        topology;  // of this node as hwloc's XML, so that ranks need not look; empty: they do
    bool oversubscribed = false;  // tell the ranks that the node has more of them than cores
};

class Server {
  public:
    static sys::Result<std::unique_ptr<Server>> start(const ServerOptions&, Box&, Host&);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // The job and its local ranks. Blocks until the library has taken them.
    sys::Result<void> register_job(const JobInfo&);

    // What a rank needs to find this server.
    sys::Result<std::map<std::string, std::string>> environment(int rank) const;

    // An ended rank, which the library has taken out of its count: lists of ranks in later fences
    // do not find it either. Does not wait.
    void forget(int rank) const;

    const std::string& nspace() const { return nspace_; }

  private:
    explicit Server(const ServerOptions& options) : options_(options) {}

    ServerOptions options_;
    std::string nspace_;
};

}  // namespace batchai::launcher::pmix
