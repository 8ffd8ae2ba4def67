// SPDX-License-Identifier: Apache-2.0
//
// Agent: the process on each node that runs the node's ranks. It connects to the root, starts the
// ranks that the root assigns, is their PMIx and PMI-1 server, and reports their ends. The root
// makes all decisions.
//
// Agent connects the classes that do the work. It passes the root's messages on to them
// (on_message), and they tell it what has happened (events.hpp).
#pragma once

#include <memory>
#include <string>

#include "launcher/agent/branch.hpp"
#include "launcher/agent/events.hpp"
#include "launcher/agent/guard.hpp"
#include "launcher/agent/node_job.hpp"
#include "launcher/agent/pmix_host.hpp"
#include "launcher/agent/preparation_process.hpp"
#include "launcher/agent/rank_watch.hpp"
#include "launcher/agent/ranks.hpp"
#include "launcher/agent/reserved_port.hpp"
#include "launcher/common/bootstrap.hpp"
#include "launcher/common/channel.hpp"
#include "launcher/common/door.hpp"
#include "launcher/common/signals.hpp"
#include "launcher/gloo/rendezvous.hpp"

namespace batchai::launcher {

class Agent final : private AgentEvents {
  public:
    // link: the connection to the root.
    Agent(Bootstrap bootstrap, Guarded guarded, TlsKey key, Link link);
    // Returns the process's exit code. 0: the root has received every report. trouble: why this
    // node cannot serve ranks; empty: it can.
    int run(const std::string& trouble);

  private:
    // Messages from the root.
    void on_message(Kind kind, Reader& reader);
    void root_lost();
    void on_signal(int signal, pid_t sender);

    // Starting ranks, in this order (agent_start.cpp).
    void say_hello();
    void prepare();
    void on_prepared();
    void parent_connected() override;
    sys::Result<int> serve_rendezvous();
    void start_ranks(Go go);
    sys::Result<void> start_rank(int rank);
    // The root's orders about a further job.
    void on_new_job(Job job);
    std::string prepare(const Job& job);
    void on_job_start(bool start);

    // The other events of the parts.
    void rank_ended(RankEnd end) override { pmix_.rank_ended(std::move(end)); }
    void rank_judged(RankEnd end) override;
    void child_ended(pid_t pid, int status) override;
    void ranks_done() override;
    void output_idle() override { check_done(); }
    void fence_done(FenceDone done) override { pmix_.on_fence_done(std::move(done)); }
    void branch_broken(const std::string& why) override;
    void fail(const AgentError& error) override;

    void fail(const std::string& message);
    void end_ranks(int signal, std::chrono::milliseconds grace);
    void check_done();

    const Bootstrap bootstrap_;
    Guarded guarded_;
    NodeJob job_;
    PortsOfRanks ports_;

    Loop loop_;
    Channel root_;
    Ranks ranks_;
    Branch branch_;
    PmixHost pmix_;
    RankWatch watch_;
    PreparationProcess preparation_;
    SignalEvents signals_;
    std::unique_ptr<Timer> giving_up_;
    std::unique_ptr<gloo::Rendezvous>
        rendezvous_;  // null in a job of one rank, and on a node without ranks

    int jobs_started_ = 1;
    enum class Stage { greeting, launched, ranks_done, reported } stage_ = Stage::greeting;
    enum class Ending { no, asked, root_lost } ending_ = Ending::no;
};

// `batchai-launch --agent`: the program that srun, or the root itself, starts on each node. It
// reads its bootstrap line from standard input.
int agent_main();

}  // namespace batchai::launcher
