// SPDX-License-Identifier: Apache-2.0
//
// NodeJob: the jobs as this node sees them. It has the root's orders (Launch, Go) and what the
// agent finds on its machine: GPUs, cores, the network interface. From these it makes the plan of
// each rank: cores, devices, environment and command. It also writes to the job's logs.
#pragma once

#include <string>
#include <vector>

#include "job/record.hpp"
#include "launcher/agent/binding.hpp"
#include "launcher/agent/spawn.hpp"
#include "launcher/common/bootstrap.hpp"
#include "launcher/common/interfaces.hpp"
#include "launcher/common/message.hpp"
#include "launcher/common/program.hpp"
#include "launcher/env/env.hpp"
#include "launcher/pmix/server.hpp"
#include "sys/result.hpp"

namespace batchai::launcher {

class NodeJob {
  public:
    // bootstrap must outlive this object. interface: the one that reaches the root. memory: a
    // directory for files that serve as shared memory.
    NodeJob(const Bootstrap& bootstrap, Interface interface, std::string memory);

    // Fills in what the root wants to know of this machine. Returns the error if the GPUs cannot be
    // counted.
    sys::Result<void> describe_machine(Hello& hello);

    // The root's first order. launch() is empty before.
    void take(Launch launch);
    const Launch& launch() const { return launch_; }
    // A further job, of which the root may say that it does not start.
    void add(Job job);
    void remove_last() { jobs_.remove_last(); }
    const Jobs& jobs() const { return jobs_; }
    // Takes the interface that the user has named, if any.
    sys::Result<void> choose_interface();
    // The preparation may read this file, and scripts that start MPI themselves do.
    sys::Result<void> write_host_file() const;

    // The root's second order: plans all ranks of the node. rendezvous_port: 0: none.
    void make_plan(Go go, int rendezvous_port);
    // The plan, for a dry run.
    Planned planned() const;
    // What a rank starts with, without the variables of the servers for ranks.
    SpawnRequest request_for(int rank) const;
    // The variables that are the user's, not the launch's.
    env::Environment users(int rank) const;
    // What the PMIx library must know of a job.
    pmix::JobInfo pmix_info(const Job& job) const;
    Meeting meeting() const;

    // The agent's own environment.
    const env::Environment& environment() const { return environment_; }
    // The same, overridden by the job's variables on this node.
    env::Environment of_job() const;
    // The part of a rank's environment that comes from the agent's own.
    env::Environment inherited() const;

    // The ranks of all jobs on this node, and those of one.
    std::vector<int> ranks() const { return jobs_.map().ranks_on(node_.node); }
    std::vector<int> ranks_of(const Job& job) const;
    // The GPU that the rank uses first; -1: none.
    int gpu_of(int rank) const;
    const Interface& interface() const { return interface_; }
    const Topology& topology() const { return topology_; }

    // The logs. They ignore errors: a full disk must not end the job.
    void note(const std::string& line) const;  // in the execution log
    void note_start(const Job& job) const;
    void record(job::Event::Kind kind) const;

  private:
    int node_of_job() const;
    GpusOfRanks gpus_of_ranks() const;
    std::vector<std::vector<int>> shares() const;
    Load load() const;
    int cores_of(int local_rank) const;
    bool tells_oversubscribed() const;
    env::RankNumbers numbers_of(int rank) const;
    std::vector<std::string> ambiguous_interfaces() const;
    std::vector<std::string> command_of(const Program& program) const;
    env::Environment environment_of(int rank, env::Environment inherited) const;

    const Bootstrap& node_;
    env::Environment environment_;
    std::string memory_;
    Interface interface_;  // the network interface that the ranks use
    Topology topology_;
    std::vector<Core> cores_;
    int granted_cores_ = 0, gpus_ = 0;
    Launch launch_;
    Jobs jobs_;
    Go go_;
    int rendezvous_port_ = 0;
    std::vector<std::vector<int>> cpus_;  // by local rank; empty: not bound
    std::vector<std::string> networks_;   // by local rank; empty: any
};

}  // namespace batchai::launcher
