// SPDX-License-Identifier: Apache-2.0
//
// Coordinator: the root of a job. It waits for one agent per node, tells the agents what to start,
// and collects output and ends. At the first failure it ends all ranks and reports the cause.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/common/allocation.hpp"
#include "launcher/common/bootstrap.hpp"
#include "launcher/common/channel.hpp"
#include "launcher/common/door.hpp"
#include "launcher/common/signals.hpp"
#include "launcher/common/sink.hpp"
#include "launcher/common/terminal.hpp"
#include "launcher/root/fence_inquiry.hpp"
#include "launcher/root/input_feed.hpp"
#include "launcher/root/inspection.hpp"
#include "launcher/root/options.hpp"
#include "launcher/root/plan_view.hpp"
#include "launcher/root/printer.hpp"
#include "launcher/root/relay.hpp"
#include "launcher/root/report.hpp"
#include "launcher/root/starter.hpp"
#include "launcher/root/starter_words.hpp"

namespace batchai::launcher {

// tasks: Allocation::tasks.
std::vector<NodeSize> sizes_of(const std::vector<Hello>& nodes, const std::vector<int>& tasks);

// What to run, decided once the nodes have said what they have.
struct Work {
    RankMap map;
    Role role = Role::ranks;
    std::vector<Program> programs;               // their ranks are the map's
    std::vector<env::Environment> environments;  // of each node
    std::string directory;                       // where they start
    std::vector<std::string> directories;  // on each node, in its place; empty: the same on all

    std::vector<env::Environment> of_retries;  // of each node, besides, where the job ran before
    std::vector<std::string> execution_logs;   // of each node; empty: none
    std::string record;
    // Before the ranks, on each node: a program and its standard input; an empty program: nothing.
    std::vector<std::vector<std::string>> preparations;
    std::string preparation_input;
    bool host_file = false;
    Secrets secrets;  // not to be printed
};
using Planner = std::function<sys::Result<Work>(const std::vector<Hello>& nodes)>;

struct Session {
    Allocation allocation;
    Planner plan;
    // Where the ranks' output goes.
    Sink::Target output = standard_stream(1), error = standard_stream(2);
    bool output_is_ours = true;  // the ranks' stderr is the launcher's
    Labels labels = Labels::none;
    std::string output_directory;   // for files of each rank besides; empty: none
    std::string output_line;        // between an earlier run's output in them and ours; empty: none
    std::optional<double> timeout;  // seconds, of all attempts
    std::optional<double> timeout_left;  // of it, after earlier attempts; none: all of it
    double hang_report = 60;             // seconds without progress until a hang report; 0: never
    int attempt = 0, max_restarts = 0;
    std::vector<std::string> misplaced;  // SessionResult's, of earlier attempts
    std::string restart_directory;       // named for the ranks; empty: none
    double grace = 10;                   // seconds for the ranks to end after a signal
    int end_on = 0;              // a signal that ends the job besides the usual ones; 0: none
    std::string interface;       // for the ranks; empty: by route
    bool bind = true;            // ranks to cores
    bool own_gpus_only = false;  // of each rank, to be seen
    std::string horovod;         // which one ranks import; empty: as their environment says
    std::string compat;          // what scripts are given older names of; empty: nothing
    bool tensorflow = true;      // all ranks are workers in TF_CONFIG
    DryRun dry_run = DryRun::no;
    int radix = kDefaultRadix;    // of the tree over which fences go
    std::string owned_directory;  // removed with the first agent, whatever kills us; empty: none
};

struct SessionResult {
    int exit_code = 0;
    std::string failure;  // the whole line; empty: none
    Cause cause = Cause::none;
    std::vector<std::string> lost_nodes;
    bool logged = false;  // the line is in the execution log and the record already
    std::optional<double> timeout_left = {};  // of Session::timeout, in seconds
    std::vector<std::string> misplaced = {};  // where output goes on that could not be written
    std::string node = {};                    // of the failure; empty: no one place
    std::string details = {};                 // the lines below it in the report
};

class Coordinator final : private Relay::Sender {
  public:
    // Runs the job to its end. A thread of libuv's may still be in read() or write() then, and stay
    // there until the process ends.
    static SessionResult run(Session session);

  private:
    explicit Coordinator(Session session);
    SessionResult run_to_end();
    bool in_use() const { return input_.reading() || !written(); }
    // A connection to a process of the job; node is -1 until it has said a good hello.
    struct Peer {
        std::unique_ptr<Channel> channel;
        int node = -1;
    };
    struct Agent {
        Peer* peer = nullptr;
        Hello hello;
        double offset = 0;  // the root's clock minus the agent's
        std::optional<Prepared> prepared;
        bool done = false;
        Quiet quiet;
    };

    sys::Result<void> open();
    std::optional<double> timeout_left() const;
    void admit(Link link);
    void on_hello(Peer& peer, Reader& reader);
    bool is_welcome(const Hello& hello) const;
    void close_door();
    sys::Result<void> check_ready(const std::vector<Hello>& nodes) const;
    void launch();
    Launch launch_for(int node, const Work& work) const;
    void add_slurm(Launch& launch) const;
    void add_attempt(env::Environment& environment) const;
    void on_planned(Planned planned);
    Tree tree() const {
        return {static_cast<int>(session_.allocation.nodes.size()), session_.radix};
    }
    void on_message(int node, Kind kind, Reader& reader);
    void on_prepared(int node, Prepared prepared);
    Go go() const;
    void check_served();
    void on_rank_end(int node, RankEnd end);
    void check_awaited();
    void on_agent_lost(int node);
    void on_agent_died(const DeathNotice& notice);
    void on_output(int node, Output output);
    void on_output_failure(const Sink::Failure& failure);
    void on_misplaced(const Misplaced& misplaced);
    void tell(const std::string& line);
    bool written() const { return out_ == nullptr || (out_->idle() && err_->idle()); }
    void start_input();

    void on_signal(int signal);
    bool ends_job(int signal) const;
    void on_asked(int signal);
    void kill_now();
    void on_child();
    void show_progress();
    void on_stall();
    // then: when everything is said, unless the job has ended by then.
    void inspect(const std::string& why = {}, std::function<void()> then = {});
    void on_quiet(int node, const Quiet& quiet);
    void check_quiet();

    // since: when, by our clock; none: now.
    void fail(const std::string& line, int code = 125, Cause cause = Cause::other,
              std::optional<double> since = {});
    void end_job(int signal = SIGTERM, std::chrono::milliseconds grace = kGraceAfterFailure);
    bool all_done() const;
    bool only_files_are_open() const;
    void check_over();
    void on_deadline();
    void say_bye();
    void check_gone();
    std::string names(const std::vector<int>& nodes) const;

    template <class Message>
    void to_all(const Message& message) {
        for (Agent& agent : agents_) {
            if (agent.peer != nullptr) agent.peer->channel->send(message);
        }
    }
    void send(const std::vector<int>& nodes, const FenceDone& message) override;
    void send(int node, const ModexRequest& message) override;
    void send(int node, const ModexReply& message) override;
    void send(int node, const StoreReply& message) override;
    void send(int node, const Notification& message) override;
    void send(int node, const GlooReply& message) override;

    Session session_;
    std::optional<TlsKey> key_;
    std::string namespace_;  // of the ranks' PMIx
    Loop loop_;
    Relay relay_;
    std::vector<Agent> agents_;
    std::vector<std::unique_ptr<Peer>> peers_;
    std::vector<Starter> starters_;
    StarterWords starter_words_;
    std::unique_ptr<Door> door_;  // until all agents are there
    std::unique_ptr<SignalEvents> signals_;
    std::shared_ptr<Sink> out_, err_;  // the same one, if both lead to the same file
    std::shared_ptr<Printer> printer_out_, printer_err_;
    Timer stall_, progress_;
    ActiveTimer timeout_;
    Timer deadline_, doubt_;
    RankMap map_;
    InputFeed input_;
    FenceInquiry fence_inquiry_;
    Inspection inspection_;
    std::vector<Program> programs_;
    Plan plan_;  // --dry-run only, as are these two
    Secrets secrets_;
    int planned_ = 0;  // ranks
    StatusLine status_;
    Outcome outcome_;
    enum class State { starting, running, ending, over } state_ = State::starting;
    std::size_t greeted_ = 0;
    std::vector<std::string> lost_nodes_;
    int stalls_ = 0;  // while starting
    bool hang_said_ = false;
    std::optional<std::uint64_t> bytes_written_;  // when last looked at
    bool agents_had_time_ = false;                // to write files, after the last rank's end
    bool asked_ = false;                          // to end, by a signal
    bool hurried_ = false;                        // and again
    int own_signals_ = 0;                         // that end the job and were sent to this process
    bool srun_ended_ = false;                     // before it was to: Slurm kills the agents then
    bool srun_matters_ = false;                   // what srun has said explains the failure
};

}  // namespace batchai::launcher
