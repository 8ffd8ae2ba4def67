// SPDX-License-Identifier: Apache-2.0
//
// Agent: one per node. Says hello to the root, starts the ranks it is told to, is their PMIx
// and PMI-1 server, and reports. It decides nothing: the root does.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "job/record.hpp"
#include "launcher/agent/binding.hpp"
#include "launcher/agent/branch.hpp"
#include "launcher/agent/facts.hpp"
#include "launcher/agent/gpus.hpp"
#include "launcher/agent/groups.hpp"
#include "launcher/agent/guard.hpp"
#include "launcher/agent/last_words.hpp"
#include "launcher/agent/locality.hpp"
#include "launcher/agent/progress_pages.hpp"
#include "launcher/agent/rank_files.hpp"
#include "launcher/agent/ranks.hpp"
#include "launcher/agent/spawn.hpp"
#include "launcher/agent/stacks.hpp"
#include "launcher/agent/stand_ins.hpp"
#include "launcher/common/bootstrap.hpp"
#include "launcher/common/channel.hpp"
#include "launcher/common/door.hpp"
#include "launcher/common/interfaces.hpp"
#include "launcher/common/signals.hpp"
#include "launcher/env/env.hpp"
#include "launcher/gloo/rendezvous.hpp"
#include "launcher/pmi1/server.hpp"
#include "launcher/pmi1/solo_server.hpp"
#include "launcher/pmix/server.hpp"

namespace batchai::launcher {

class Agent : private pmix::Host {
  public:
    Agent(Bootstrap bootstrap, Guarded guarded);
    // Returns the process's exit code. 0: the root knows everything there is to know.
    int run();

  private:
    // What the root says.
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
    bool run_preparation();
    std::string output_of(int rank) const;
    bool open_files();
    void on_child(pid_t pid, int status);
    void start_ranks();
    sys::Result<SpawnRequest> request_for(int rank);
    void note(const std::string& line) const;  // into the execution log
    void record(job::Event::Kind kind) const;
    void write_host_file() const;
    void note_commands(const std::vector<int>& ranks) const;

    // What a rank gets (agent_plan.cpp).
    GpusOfRanks gpus_of_ranks() const;
    std::vector<std::vector<int>> shares() const;
    void place_ranks();
    Load load() const;
    int cores_of(int local_rank) const;
    bool tells_oversubscribed() const;
    env::Place place_of(int rank) const;
    Meeting meeting() const;
    env::Environment inherited() const;
    env::Environment environment_of(int rank, env::Environment inherited) const;
    void tell_plan();

    // What the ranks do.
    void on_output(int rank, Stream stream, std::string bytes);
    void output_taken(std::uint64_t bytes);
    void check_done();
    void judge(RankEnd end);
    void on_ranks_done();

    // Whether they do anything (agent_hang.cpp).
    pid_t process_of(int rank) const;
    std::vector<RankState> inspect();
    void read_stack(int rank);
    void start_watch();
    void watch();

    // What the PMIx library wants (agent_pmix.cpp).
    void fence(Fence contribution, pmix::WhenJoined answer) override;
    void modex(std::uint32_t rank, pmix::ModexAnswer answer) override;
    void publish(std::vector<Item> items, pmix::OpAnswer answer) override;
    void lookup(std::vector<std::string> keys, bool wait, pmix::LookupAnswer answer) override;
    void unpublish(std::uint32_t owner, std::vector<std::string> keys,
                   pmix::OpAnswer answer) override;
    void aborted(std::uint32_t rank, int code, std::string message) override;
    void spawn_refused(std::uint32_t rank) override;
    void connected(std::uint32_t rank) override;
    void finalized(std::uint32_t rank) override;
    void group_asked(const std::string& name, const std::vector<std::uint32_t>& ranks) override;
    void notify(Notification event) override;
    void log(std::uint32_t rank, Stream stream, std::string text) override;
    void signal(Signal signal) override;

    void set_pmix_state(int rank, RankEnd::Pmix state);
    bool any_joined() const;
    pid_t start_stand_in(int rank);

    // PMI-1 besides PMIx (agent_pmi1.cpp).
    bool start_pmi1();
    sys::Result<sys::UniqueFd> offer_pmi1(SpawnRequest& request, int rank);

    // What other nodes answer (agent_pmix.cpp).
    void on_pmix_message(Kind kind, Reader& reader);
    void on_fence_done(FenceDone done);  // whole
    void on_modex_request(ModexRequest request);
    void send_modex_reply(const ModexRequest& request, int status, std::string data);
    void on_modex_reply(ModexReply reply);
    void on_store_reply(const StoreReply& reply);
    void fail_modex_of(int rank);

    void fail(const std::string& message);
    void fail(const AgentError& error);
    void end_ranks(int signal, std::chrono::milliseconds grace);

    Bootstrap bootstrap_;
    std::optional<TlsKey> key_;
    Guarded guarded_;
    env::Environment environment_;  // this process's
    Topology topology_;
    std::vector<Core> cores_;
    int granted_cores_ = 0;
    int gpus_ = 0;
    ReservedPort master_port_;
    std::vector<ReservedPort> worker_ports_;  // of each local rank
    Interface interface_;                     // that the ranks use

    Loop loop_;
    pmix::Box box_{loop_};
    std::unique_ptr<pmix::Server> pmix_;
    std::unique_ptr<pmi1::Server> pmi1_;  // absent before the ranks start, or for a single one
    std::unique_ptr<pmi1::SoloServer> solo_pmi1_;  // for a single one
    std::unique_ptr<Channel> root_;
    std::unique_ptr<Branch> branch_;
    std::unique_ptr<RankFiles> files_;  // absent before the ranks start
    std::set<int> own_output_;          // ranks whose output goes there alone, not to the root
    std::unique_ptr<Ranks> ranks_;
    LastWords last_words_;
    StandIns stand_ins_;
    Groups groups_;
    std::unique_ptr<SignalEvents> signals_;
    std::unique_ptr<Timer> giving_up_;
    std::unique_ptr<gloo::Rendezvous>
        rendezvous_;  // absent: a job of one rank, or no rank on this node
    ProgressPages pages_;
    StackReader stacks_;
    std::unique_ptr<Timer> watch_;  // absent before the ranks start

    struct Preparation {
        pid_t pid = -1;
        std::unique_ptr<InputPipe> input;
        sys::UniqueFd output, error;
    };
    Preparation preparation_;

    Launch job_;
    Go go_;
    std::vector<std::vector<int>> cpus_;  // of each local rank; empty: not bound
    std::vector<std::string> networks_;   // of each local rank; empty: any
    bool launched_ = false, ending_ = false, over_ = false;
    std::uint64_t unwritten_ = 0;  // output that the root, or a file, has not taken yet
    bool ranks_done_ = false;
    bool node_done_ = false;                    // said
    std::chrono::milliseconds quiet_limit_{0};  // 0: the root does not want to know
    ActiveClock still_;                         // since any rank moved, as far as seen
    bool quiet_ = false;                        // said
    int last_signal_ = 0;
    std::chrono::steady_clock::time_point last_signal_time_;
    int exit_code_ = 0;

    std::map<FenceId, pmix::WhenJoined> fences_;
    std::map<std::uint64_t, pmix::ModexAnswer> modexes_;  // asked by us
    std::map<std::pair<int, std::uint64_t>, std::uint32_t>
        asked_;  // asked of us: (origin, id) -> rank
    std::map<std::uint64_t, pmix::OpAnswer> stores_;
    std::map<std::uint64_t, pmix::LookupAnswer> lookups_;
    std::uint64_t next_id_ = 0;
    std::map<int, RankEnd::Pmix> pmix_states_;  // of ranks that have joined, through PMI-1 too
    std::set<int> pmix_clients_;                // ranks that the PMIx library has known as clients
};

}  // namespace batchai::launcher
