// SPDX-License-Identifier: Apache-2.0
//
// Coordinator: the root of a job. It waits for one agent per node, tells the agents what to start,
// and collects the ranks' output and ends. At the first failure it ends all ranks and reports the
// cause.
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
#include "launcher/common/exit_code.hpp"
#include "launcher/common/settings.hpp"
#include "launcher/common/signals.hpp"
#include "launcher/common/sink.hpp"
#include "launcher/common/terminal.hpp"
#include "launcher/root/fence_inquiry.hpp"
#include "launcher/root/input_feed.hpp"
#include "launcher/root/inspection.hpp"
#include "launcher/root/outcome.hpp"
#include "launcher/root/plan_view.hpp"
#include "launcher/root/printer.hpp"
#include "launcher/root/relay.hpp"
#include "launcher/root/starter.hpp"
#include "launcher/root/starter_words.hpp"

namespace batchai::launcher {

// tasks: see Allocation::tasks.
std::vector<NodeSize> sizes_of(const std::vector<Hello>& nodes, const std::vector<int>& tasks);

// What to run. It is decided when all agents have sent Hello.
struct Work {
    RankMap map;
    Role role = Role::ranks;
    std::vector<Program> programs;               // their ranks are those of the map
    std::vector<env::Environment> environments;  // of each node
    std::string directory;                       // the ranks' working directory
    std::vector<std::string> directories;        // one for each node; empty: `directory` on all

    std::vector<env::Environment> of_retries;  // one for each node, added if the job ran before
    std::vector<std::string> execution_logs;   // one for each node; empty: none
    std::string record;
    // A program to run on each node before the ranks, and its standard input. An empty program:
    // none.
    std::vector<std::vector<std::string>> preparations;
    std::string preparation_input;
    std::string host_file;  // the text for $AZ_BATCHAI_MPI_HOST_FILE; empty: it is written already
    Secrets secrets;        // values that must not be printed
};
using Planner = std::function<sys::Result<Work>(const std::vector<Hello>& nodes)>;

// What one attempt leaves to the next one.
struct Carried {
    std::optional<double> timeout_left;  // seconds; none: all of LaunchSettings::timeout
    std::vector<Misplaced> misplaced;    // see outcome.hpp; of all attempts so far
    bool prepared = false;               // the preparation of all nodes is done
};

struct Session {
    Allocation allocation;
    LaunchSettings settings;
    Planner plan;
    // The destinations of the ranks' output.
    Sink::Target output = standard_stream(1), error = standard_stream(2);
    bool output_is_ours = true;  // the ranks' stderr is also the launcher's
    int attempt = 0, max_restarts = 0;
    Carried carried;                // from earlier attempts
    std::string restart_directory;  // for the ranks' variable; empty: none
    bool tensorflow = true;         // TF_CONFIG makes all ranks workers
    std::string owned_directory;    // the first agent removes it; empty: none
};

struct SessionResult {
    int exit_code = 0;
    std::string failure;  // the complete line; empty: none
    Cause cause = Cause::none;
    std::vector<std::string> lost_nodes;
    bool logged = false;  // the line is in the execution log and the record already
    Carried carried = {};
    std::string node = {};        // of the failure; empty: no particular node
    std::string details = {};     // lines below the failure in the report
    std::string error_file = {};  // of the failed rank; see Outcome::error_file
};

// What a rank does in so short a time before a signal that ends the job is a consequence: Slurm
// may signal ranks first.
inline constexpr std::chrono::seconds kConsequence{1};

class Coordinator {
  public:
    // Runs the job to its end. Afterwards a thread of libuv may still be in read() or write(),
    // until the process ends.
    static SessionResult run(Session session);

  private:
    explicit Coordinator(Session session);
    SessionResult run_to_end();
    bool in_use() const { return input_.reading() || !written(); }
    // A connection to a process of the job. node is -1 until a valid Hello arrives.
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
        Quiet::Progress progress = Quiet::Progress::moving;
    };

    sys::Result<void> open();
    void ask_who_ended_it();
    std::optional<double> timeout_left() const;
    void admit(Link link);
    void on_hello(Peer& peer, Reader& reader);
    bool is_welcome(const Hello& hello) const;
    void close_door();
    sys::Result<void> check_ready(const std::vector<Hello>& nodes) const;
    void launch();
    Launch launch_for(int node, const Work& work) const;
    void add_slots(env::Environment& slurm) const;
    void add_slurm(Launch& launch) const;
    void add_attempt(env::Environment& environment) const;
    void on_planned(Planned planned);
    Tree tree() const {
        return {static_cast<int>(session_.allocation.nodes.size()), session_.settings.radix};
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
    void pause();
    bool ends_job(int signal) const;
    void on_asked(int signal);
    void kill_now();
    void on_child();
    void show_progress();
    void on_stall();
    // then: called when the inspection is complete, unless the job has ended before.
    void inspect(const std::string& why = {}, std::function<void()> then = {});
    void on_quiet(int node, Quiet::Progress progress);
    void check_quiet();

    // since: the time of the failure, by the root's clock; none: now.
    void fail(const std::string& line, int code = kOwnFailure, Cause cause = Cause::other,
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

    Session session_;
    std::optional<TlsKey> key_;
    std::string namespace_;  // the name of the ranks' PMIx namespace
    Loop loop_;
    Relay relay_;
    std::vector<Agent> agents_;
    std::vector<std::unique_ptr<Peer>> peers_;
    std::vector<Starter> starters_;
    StarterWords starter_words_;
    std::unique_ptr<Door> door_;  // open until all agents have connected
    std::unique_ptr<SignalEvents> signals_;
    std::shared_ptr<Sink> out_, err_;  // the same one, if both lead to the same file
    std::shared_ptr<Printer> printer_out_, printer_err_;
    Timer stall_, progress_;
    ActiveTimer timeout_;
    Timer deadline_, doubt_, pause_;
    RankMap map_;
    InputFeed input_;
    FenceInquiry fence_inquiry_;
    Inspection inspection_;
    std::vector<Program> programs_;
    Plan plan_;  // for --dry-run, with the next two members
    Secrets secrets_;
    int planned_ = 0;  // number of ranks
    StatusLine status_;
    Outcome outcome_;
    enum class State { starting, running, ending, over } state_ = State::starting;
    std::size_t greeted_ = 0;
    std::vector<std::string> lost_nodes_;
    int stalls_ = 0;  // during the start
    bool hang_said_ = false;
    std::optional<std::uint64_t> bytes_written_;  // at the last look
    bool agents_had_time_ = false;                // for files, after the last rank's end
    // What signals have asked for. end_now: the job was ending already.
    enum class Asking { no, end, end_now } asking_ = Asking::no;
    int own_signals_ = 0;        // that end the job and that this process received
    bool srun_ended_ = false;    // too early: Slurm then kills the agents
    bool srun_matters_ = false;  // srun's text explains the failure
};

}  // namespace batchai::launcher
