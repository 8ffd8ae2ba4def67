// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/coordinator.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "launcher/common/exit_code.hpp"
#include "launcher/common/processes.hpp"
#include "launcher/common/say.hpp"
#include "launcher/common/terminal.hpp"
#include "slurm/own_job.hpp"
#include "sys/clock.hpp"
#include "sys/text.hpp"

namespace batchai::launcher {
namespace {

// For slurmctld's word about a failure, which the user waits for.
constexpr std::chrono::seconds kAnswer{2};

}  // namespace

Coordinator::Coordinator(Session session)
    : session_(std::move(session)),
      nodes_(loop_, session_.allocation.nodes, session_.settings.radix, *this),
      starters_(loop_, session_.allocation.local, *this),
      output_(loop_, session_.output, session_.settings.labels, jobs_.map(), outcome_, *this),
      input_(loop_, nodes_),
      relay_(nodes_, jobs_),
      spawning_(nodes_, jobs_, outcome_),
      inspection_(loop_, nodes_, relay_, jobs_.map(), session_.settings.hang_report),
      viewers_(loop_, nodes_, jobs_.map()),
      ending_(loop_, session_.settings,
              {jobs_.map(), nodes_, starters_, output_, input_, inspection_, outcome_}) {
    for (const Misplaced& misplaced : session_.carried.misplaced) outcome_.add(misplaced);
    if (session_.attempt > 0) nodes_.limit_start();
}

SessionResult Coordinator::run(Session session) {
    std::unique_ptr<Coordinator> coordinator(new Coordinator(std::move(session)));
    SessionResult result = coordinator->run_to_end();
    // A thread in read() or write() still uses these objects, so they are not destroyed.
    const bool in_use = coordinator->input_.reading() || !coordinator->output_.written();
    if (in_use) (void)coordinator.release();
    return result;
}

SessionResult Coordinator::run_to_end() {
    block_signals(root_signals());
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file's limit fails instead
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const SignalEvents signals(loop_, root_signals(),
                               [this](int s, pid_t) { ending_.on_signal(s); });
    if (auto opened = open(); !opened) {
        say(opened.error().message);
        return {kOwnFailure, "batchai-launch: " + opened.error().message, Cause::other, {}};
    }
    loop_.run();
    viewers_.close();
    kill_descendants();
    starters_.catch_up();
    if (unstarted_) outcome_.explain_loss(unstarted_->node, line_of(*unstarted_));
    if (!session_.allocation.local) {
        if (ending_.agents_killed()) sweep_nodes(session_.allocation);
        ask_who_ended_it();
    }
    return report();
}

// Slurm may signal ranks alone (proctrack/linuxproc), and ranks may answer with any exit code. So
// no rank or node is blamed for what happened after Slurm began to end the job.
void Coordinator::ask_who_ended_it() {
    const auto& step = starters_.cancelled_step();
    const bool cancelled = step && ending_.agents_killed() && outcome_.failed();
    const Cause cause = outcome_.cause();
    const bool doubtful = cause == Cause::signal || cause == Cause::rank || cause == Cause::node;
    if (!cancelled && !doubtful) return;
    const auto job = slurm::query_own_job(session_.allocation.job.whole(),
                                          session_.allocation.restarts, kAnswer);
    if (cancelled && (!job || job->runs)) {
        return outcome_.add(
            {step->time - kConsequence.count(),
             fmt::format("batchai-launch: step {}, which runs the ranks, was cancelled",
                         step->number),
             kSignalled + SIGKILL, Cause::other});
    }
    if (!job || !doubtful) return;
    const std::string why = slurm::reason_to_end(*job);
    if (cause != Cause::signal && !why.empty() && !job->runs) {
        // Slurm's time has no fraction. Of a requeued job it is unknown: then all was after it.
        const double since = std::max(job->end_time - kConsequence.count(), 0.0);
        outcome_.add(
            {since, "batchai-launch: asked to end by Slurm", kSignalled + SIGTERM, Cause::signal});
    }
    outcome_.explain_signal(why);
}

SessionResult Coordinator::report() {
    std::string details;
    if (std::string text = outcome_.text(jobs_.map(), true); !text.empty()) {
        hide(text, work_.secrets);
        text = sys::printable_lines(text);
        const std::size_t first = text.find('\n');
        details = text.substr(first + 1);
        if (outcome_.exit_code() != 0 && has_colours(2))
            text.replace(0, first, in_red(text.substr(0, first)));
        output_.report(text);
        if (starters_.explains()) starters_.say();
    }
    if (!output_.written()) {
        say(output_.stalled() + ": accepts no more output; the rest of the ranks' output is lost");
    }
    std::vector<std::string> lost;
    for (const Node& node : nodes_)
        if (node.lost) lost.push_back(node.name);
    return {outcome_.exit_code(),
            outcome_.line(jobs_.map()),
            output_.written() ? outcome_.cause() : Cause::other,
            std::move(lost),
            outcome_.logged(),
            {ending_.timeout_left(), outcome_.misplaced(), session_.carried.prepared},
            outcome_.node(jobs_.map()),
            details,
            outcome_.error_file()};
}

sys::Result<void> Coordinator::open() {
    std::vector<std::string> addresses{"127.0.0.1"};
    if (session_.allocation.local) {
        if (auto usable = check_loopback(); !usable) return usable;
    } else {
        addresses = addresses_for_nodes(session_.settings.interface);
    }
    if (addresses.empty()) return sys::Error{"this machine has no network address"};
    std::vector<Listener> listeners;
    Bootstrap bootstrap;
    bootstrap.key = random_text();
    bootstrap.job_id = session_.allocation.job.own_text();
    bootstrap.owned_directory = session_.owned_directory;
    bootstrap.tree = nodes_.tree();
    for (const std::string& address : addresses) {
        auto listener = listen_at(address, "the agents");
        if (!listener) return listener.error();
        bootstrap.endpoints.push_back(listener->endpoint);
        listeners.push_back(std::move(*listener));
    }
    if (auto started = starters_.start(session_.allocation, bootstrap); !started) return started;
    if (auto opened = nodes_.open(std::move(listeners), bootstrap.key); !opened) return opened;
    open_for_viewers(addresses);
    ending_.watch_script();
    if (const auto timeout = session_.settings.timeout)
        ending_.start_timeout(session_.carried.timeout_left.value_or(*timeout));
    return {};
}

// A user can do without the view, so the job goes on if there is none.
void Coordinator::open_for_viewers(const std::vector<std::string>& addresses) {
    if (session_.record.empty() || session_.settings.dry_run != DryRun::no) return;
    const JobFacts facts{session_.attempt, session_.max_restarts, session_.allocation.restarts};
    if (const auto opened = viewers_.open(addresses, session_.record, facts); !opened)
        say("batchai top cannot show this job: " + opened.error().message);
}

// ---- the job runs -------------------------------------------------------------------------------

void Coordinator::on_message(int node, Kind kind, Reader& reader) {
    switch (kind) {
        case Kind::output:
            if (Output output; decode(reader, output)) on_output(node, std::move(output));
            return;
        case Kind::misplaced:
            if (Misplaced misplaced; decode(reader, misplaced)) output_.misplace(misplaced);
            return;
        case Kind::input_taken:
            return input_.next();
        case Kind::planned:
            if (Planned planned; decode(reader, planned)) on_planned(std::move(planned));
            return;
        case Kind::prepared:
            if (Prepared prepared; decode(reader, prepared)) on_prepared(node, std::move(prepared));
            return;
        case Kind::rank_end:
            if (RankEnd end; decode(reader, end)) on_rank_end(node, std::move(end));
            return;
        case Kind::agent_error:
            if (AgentError error; decode(reader, error)) {
                outcome_.add(
                    {sys::wall_clock(), error.line, error.code, Cause::other, error.logged});
                error.killed ? ending_.end_after(Ending::kWordOfStep) : ending_.end_job();
            }
            return;
        case Kind::signal:
            if (Signal signal; decode(reader, signal) && ending_.running()) nodes_.send_all(signal);
            return;
        case Kind::asked:
            if (Asked asked; decode(reader, asked)) ending_.on_asked(asked.signal);
            return;
        case Kind::spawn_job:
            if (SpawnJob order; decode(reader, order)) on_spawn(node, std::move(order));
            return;
        case Kind::job_ready:
            if (JobReady ready; decode(reader, ready)) on_job_ready(node, ready);
            return;
        case Kind::node_done:
            // A node may have been done before it heard of a further job.
            if (NodeDone done; decode(reader, done) && done.jobs == spawning_.started()) {
                nodes_[node].done = true;
                ending_.check_over();
            }
            return;
        default:
            if (inspection_.on_message(node, kind, reader)) return;
            if (viewers_.on_message(node, kind, reader)) return;
            relay_.on_message(node, kind, reader);
            return check_awaited();
    }
}

void Coordinator::on_output(int node, Output output) {
    if (output.rank < 0 || output.rank >= jobs_.map().size()) return;
    const std::uint64_t size = output.bytes.size();
    output_.write(std::move(output), [this, node, size] { nodes_.send(node, OutputTaken{size}); });
}

void Coordinator::on_spawn(int node, SpawnJob order) {
    if (!ending_.running()) spawning_.stop();
    spawning_.on_order(node, std::move(order));
}

void Coordinator::on_job_ready(int node, const JobReady& ready) {
    if (!ending_.running()) spawning_.stop();
    spawning_.on_ready(node, ready);
}

void Coordinator::on_rank_end(int node, RankEnd end) {
    if (end.rank < 0 || end.rank >= jobs_.map().size()) return;
    end.time += nodes_[node].offset;
    relay_.on_gone(end);
    const int signal = end.how == RankEnd::How::signaled ? end.code : 0;
    const int rank = end.rank;
    outcome_.add(std::move(end));
    spawning_.on_rank_end(rank);
    if (outcome_.failed()) return ending_.on_rank_failed(signal);
    check_awaited();
    // Parameter servers and other servers do not end by themselves.
    if (ending_.running() && outcome_.only_servers_run()) ending_.end_job();
}

// A rank that exits with 0 while others wait for it has failed too. It is the first failure,
// because other ranks have ended since as a consequence.
void Coordinator::check_awaited() {
    const int rank = relay_.awaited();
    if (rank < 0 || !ending_.running()) return;
    ending_.fail(
        fmt::format("rank {} on {} ended with code 0 while others wait for it (in MPI_Init, a "
                    "barrier or MPI_Finalize)",
                    jobs_.map().name(rank), jobs_.map().nodes[jobs_.map().node_of(rank)]),
        1, Cause::rank, outcome_.ended_at(rank));
}

void Coordinator::on_agent_lost(int index) {
    Node& node = nodes_[index];
    if (ending_.check_gone()) return;
    node.lost = true;
    if (std::exchange(node.done, true)) return spawning_.on_lost(index);
    starters_.explain_failure();
    outcome_.add(
        {sys::wall_clock(),
         fmt::format("batchai-launch: lost the agent on {}: the node is down, or the agent "
                     "was killed with its guard",
                     node.name),
         kOwnFailure, Cause::node, false, node.name});
    ending_.end_after(Ending::kWordOfStep);
    ending_.check_over();
}

void Coordinator::on_late(const std::vector<int>& nodes, bool lost) {
    starters_.say();
    if (!lost) return;
    for (const int node : nodes) nodes_[node].lost = true;
    ending_.fail("lost " + nodes_.names(nodes) + ": no agent within a minute", kOwnFailure,
                 Cause::node);
}

// The notice may come before or after the loss of the agent's connection, or without a connection
// if the agent had not connected yet.
void Coordinator::on_agent_died(const DeathNotice& notice) {
    const std::string line = "batchai-launch: " + notice.sentence;
    if (ending_.starting()) {
        outcome_.add({sys::wall_clock(), line, kOwnFailure, Cause::node, false, notice.node});
        ending_.end_job();
    }
    outcome_.explain_loss(notice.node, line);
    unstarted_.reset();
}

// The step goes on without this agent, so the launch would wait for it.
void Coordinator::on_agent_ended(const EndedAgent& agent) {
    if (!ending_.starting()) return;
    unstarted_ = agent;
    for (int node = 0; node < nodes_.size(); ++node) {
        if (agent.node.empty() && node == agent.task) unstarted_->node = nodes_[node].name;
        if (nodes_[node].name == unstarted_->node) nodes_[node].lost = true;
    }
    outcome_.add({sys::wall_clock(), line_of(*unstarted_), kOwnFailure, Cause::node, false,
                  unstarted_->node});
    ending_.end_job();
}

// srun may pass on the agent's last line after the notice of its end.
std::string Coordinator::line_of(const EndedAgent& agent) const {
    std::string why = starters_.last_line(agent.task);
    if (const std::string own = "batchai-launch: "; why.starts_with(own)) why.erase(0, own.size());
    return fmt::format("batchai-launch: the agent on {} cannot start ({}){}", agent.node, agent.how,
                       why.empty() ? "" : ": " + why);
}

}  // namespace batchai::launcher
