// SPDX-License-Identifier: Apache-2.0
//
// Agent: the process on each node that runs the node's ranks. It connects to the root, starts the
// ranks that the root assigns, is their PMIx and PMI-1 server, and reports their ends. The root
// makes all decisions.
//
// Agent connects the classes that do the work: Ranks, RankOutput, RankWatch, PmixHost, Branch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/record.hpp"
#include "launcher/agent/binding.hpp"
#include "launcher/agent/branch.hpp"
#include "launcher/agent/gpus.hpp"
#include "launcher/agent/guard.hpp"
#include "launcher/agent/last_words.hpp"
#include "launcher/agent/locality.hpp"
#include "launcher/agent/pmix_host.hpp"
#include "launcher/agent/preparation_process.hpp"
#include "launcher/agent/rank_output.hpp"
#include "launcher/agent/rank_watch.hpp"
#include "launcher/agent/ranks.hpp"
#include "launcher/agent/reserved_port.hpp"
#include "launcher/agent/spawn.hpp"
#include "launcher/common/bootstrap.hpp"
#include "launcher/common/channel.hpp"
#include "launcher/common/door.hpp"
#include "launcher/common/interfaces.hpp"
#include "launcher/common/signals.hpp"
#include "launcher/env/env.hpp"
#include "launcher/gloo/rendezvous.hpp"
#include "launcher/pmi1/server.hpp"
#include "launcher/pmi1/solo_server.hpp"

namespace batchai::launcher {

class Agent {
  public:
    Agent(Bootstrap bootstrap, Guarded guarded);
    // Returns the process's exit code. 0: the root has received every report.
    int run();

  private:
    // Messages from the root.
    void on_message(Kind kind, Reader& reader);
    void launch(Launch job);
    void root_lost();
    void on_branch_broken(const std::string& why);
    void on_signal(int signal);
    void obey(int signal);

    // Starting ranks (agent_start.cpp).
    void say_hello();
    bool choose_interface();
    int node_of_job() const;
    void prepare();
    void on_prepared();
    void say_prepared();
    bool serve_rendezvous();
    SpawnFailure run_preparation();
    void on_child(pid_t pid, int status);
    void start_ranks();
    std::vector<std::string> command_of(const Program& program) const;
    sys::Result<SpawnRequest> request_for(int rank);
    void note(const std::string& line) const;  // appends a line to the execution log
    void record(job::Event::Kind kind) const;
    sys::Result<void> write_host_file() const;
    void note_commands(const std::vector<int>& ranks) const;

    // The plan of each rank (agent_plan.cpp).
    GpusOfRanks gpus_of_ranks() const;
    std::vector<std::vector<int>> shares() const;
    void place_ranks();
    Load load() const;
    int cores_of(int local_rank) const;
    bool tells_oversubscribed() const;
    env::Place place_of(int rank) const;
    Meeting meeting() const;
    env::Environment of_job() const;
    env::Environment inherited() const;
    env::Environment environment_of(int rank, env::Environment inherited) const;
    void tell_plan();

    // Ends of ranks.
    void check_done();
    void judge(RankEnd end);
    void on_ranks_done();

    // The PMI-1 server (agent_pmi1.cpp).
    bool start_pmi1();
    sys::Result<sys::UniqueFd> offer_pmi1(SpawnRequest& request, int rank);

    void fail(const std::string& message);
    void fail(const AgentError& error);
    void end_ranks(int signal, std::chrono::milliseconds grace);

    Bootstrap bootstrap_;
    std::optional<TlsKey> key_;
    Guarded guarded_;
    env::Environment environment_;  // the agent's own
    Topology topology_;
    std::vector<Core> cores_;
    int granted_cores_ = 0;
    int gpus_ = 0;
    ReservedPort master_port_;
    std::vector<ReservedPort> worker_ports_;  // one per local rank
    Interface interface_;                     // the network interface that the ranks use

    Loop loop_;
    std::unique_ptr<Channel> root_;
    std::unique_ptr<Branch> branch_;
    std::unique_ptr<Ranks> ranks_;
    RankOutput output_;
    std::unique_ptr<PmixHost> pmix_;
    std::unique_ptr<pmi1::Server> pmi1_;  // null before the ranks start, and in a job of one rank
    std::unique_ptr<pmi1::SoloServer> solo_pmi1_;  // for a job of one rank
    std::unique_ptr<RankWatch> watch_;
    LastWords last_words_;
    PreparationProcess preparation_;
    std::unique_ptr<SignalEvents> signals_;
    std::unique_ptr<Timer> giving_up_;
    std::unique_ptr<gloo::Rendezvous>
        rendezvous_;  // null in a job of one rank, and on a node without ranks

    Launch job_;
    Go go_;
    std::vector<std::vector<int>> cpus_;  // by local rank; empty: not bound
    std::vector<std::string> networks_;   // by local rank; empty: any
    enum class Stage { greeting, launched, ranks_done, reported } stage_ = Stage::greeting;
    enum class Ending { no, asked, root_lost } ending_ = Ending::no;
    int last_signal_ = 0;
    std::chrono::steady_clock::time_point last_signal_time_;
    int exit_code_ = 0;
};

}  // namespace batchai::launcher
