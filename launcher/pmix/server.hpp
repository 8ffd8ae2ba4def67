// SPDX-License-Identifier: Apache-2.0
//
// Server: the PMIx server of one node. Start it, register the job, and ask for each rank's
// environment.
//
// The library is a singleton of the process and has its own thread. Block SIGCHLD before start(),
// so that this thread never receives it.
//
// The server neither finalizes the library nor deregisters the job. The process ends with it, and
// the library's files are in the directories given here. The reason: a rank that is killed while it
// connects leaves freed memory in the library's lists, because the connection handler releases the
// rank's entry twice (4.2.2 to 5.0.6). Both calls would then wait for ever for a lock in that
// memory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "launcher/common/map.hpp"
#include "launcher/common/program.hpp"
#include "launcher/pmix/box.hpp"
#include "launcher/pmix/host.hpp"
#include "sys/result.hpp"

struct hwloc_topology;

namespace batchai::launcher::pmix {

struct ServerOptions {
    std::string node;              // must be the node's name in the RankMap
    int index = 0;                 // the agent's
    std::string server_directory;  // private to the library
    std::string client_directory;  // the ranks' session directory, another one
    hwloc_topology* topology;      // must outlive the process; null: the library looks itself
};

// The job, as this node's library must know it.
struct JobInfo {
    std::string nspace;
    RankMap map;
    std::vector<Program> programs;  // whose ranks are those of the map
    int node = 0;
    std::string directory;             // the ranks' working directory
    std::string command;               // informational
    std::vector<std::string> cpusets;  // of the local ranks, as "0-3"; empty: not bound
    bool oversubscribed = false;       // the node has more ranks than cores
};

class Server {
  public:
    static sys::Result<std::unique_ptr<Server>> start(const ServerOptions&, Box&, Host&);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Registers the job and its local ranks. It blocks until the library has done so.
    sys::Result<void> register_job(const JobInfo&);

    // The variables by which a rank finds this server.
    sys::Result<std::map<std::string, std::string>> environment(int rank) const;

    // Asks the library for the data of a local rank. `answer` is called on the loop's thread when
    // the rank has committed its data, which may be much later.
    void request_modex(std::uint32_t rank,
                       std::function<void(pmix_status_t, std::string data)> answer) const;
    // Delivers a rank's event to the ranks of this node that have registered for it.
    void deliver(const Notification& event) const;

    // Removes an ended rank that the library no longer counts. Lists of ranks in later fences then
    // leave it out. It does not wait.
    void forget(int rank) const;

  private:
    explicit Server(const ServerOptions& options) : options_(options) {}

    ServerOptions options_;
    std::string nspace_;
};

}  // namespace batchai::launcher::pmix
