// SPDX-License-Identifier: Apache-2.0
//
// Server: the PMIx server of one node. Start it, register the jobs, and ask for each rank's
// environment. Ranks are numbers of the launch.
//
// The library is a singleton of the process and has its own thread. Block SIGCHLD before start(),
// so that this thread never receives it.
//
// The server neither finalizes the library nor deregisters a job that has started. The process ends
// with it, and the library's files are in the directories given here. The reason: a rank that is
// killed while it connects leaves freed memory in the library's lists, because the connection
// handler releases the rank's entry twice (4.2.2 to 5.0.6). Both calls would then wait for ever for
// a lock in that memory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "launcher/common/jobs.hpp"
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

// A job, as this node's library must know it.
struct JobInfo {
    Job job;
    int node = -1;                     // this node's number in the job's map; -1: none
    int slots = 0;                     // ranks for which the launch has room
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

    // Registers a job and its local ranks. It blocks until the library has done so.
    sys::Result<void> register_job(const JobInfo&);
    // Removes the job that was registered last, whose ranks have not started.
    void remove_last_job(const std::string& nspace) const;

    // The variables by which a rank finds this server.
    sys::Result<std::map<std::string, std::string>> environment(int rank) const;

    // Asks the library for the data of a local rank. `answer` is called on the loop's thread when
    // the rank has committed its data, which may be much later.
    void request_modex(std::uint32_t rank,
                       std::function<void(pmix_status_t, std::string data)> answer) const;
    // Delivers the event that a further job has ended to the rank that has started the job.
    void deliver_end(const Job& job) const;
    // Delivers a rank's event to the ranks of this node that have registered for it.
    void deliver(const Notification& event) const;

    // Removes an ended rank that the library no longer counts. Lists of ranks in later fences then
    // leave it out. It does not wait.
    void forget(int rank) const;

  private:
    explicit Server(const ServerOptions& options) : options_(options) {}

    ServerOptions options_;
};

}  // namespace batchai::launcher::pmix
