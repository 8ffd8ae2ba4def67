// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/coordinator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "launcher/common/exit_code.hpp"
#include "launcher/common/processes.hpp"
#include "launcher/common/say.hpp"
#include "launcher/common/terminal.hpp"
#include "slurm/own_job.hpp"
#include "sys/clock.hpp"
#include "sys/text.hpp"

namespace batchai::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kStall{10};
constexpr seconds kAnswer{2};  // for slurmctld's word about a failure, which the user waits for
constexpr milliseconds kProgress{500};
constexpr milliseconds kDoubt{500};  // until a death by SIGTERM counts as a failure of its own

// Ctrl-Z stops the ranks too. Agents and guards are in no terminal's process group.
Signals root_signals() {
    Signals signals = handled_signals();
    signals.push_back(SIGTSTP);
    return signals;
}

}  // namespace

Coordinator::Coordinator(Session session)
    : session_(std::move(session)),
      namespace_(fmt::format("batchai.{}.{}", session_.allocation.job.whole_text(),
                             random_text().substr(0, 16))),
      relay_([this](int node, const Frame& message) { agents_[node].peer->channel->send(message); },
             tree()),
      agents_(session_.allocation.nodes.size()),
      starter_words_(session_.allocation.local,
                     [this](const DeathNotice& notice) { on_agent_died(notice); }),
      stall_(loop_, [this] { on_stall(); }),
      progress_(loop_, [this] { show_progress(); }),
      timeout_(loop_,
               [this] {
                   inspect({}, [this] {
                       fail(fmt::format("time-out: the job was ended after {} s",
                                        *session_.settings.timeout),
                            kTimedOut);
                   });
               }),
      deadline_(loop_, [this] { on_deadline(); }),
      doubt_(loop_, [this] { end_job(); }),
      pause_(loop_, [this] { pause(); }),
      input_(loop_, [this](const Input& block) { agents_[0].peer->channel->send(block); }),
      fence_inquiry_(relay_, {[this](int node, const FenceQuery& query) {
                                  agents_[node].peer->channel->send(query);
                              },
                              [this](const std::vector<int>& nodes) { return names(nodes); }}),
      inspection_(
          loop_, map_,
          {[this](int node, const StackQuery& query) { agents_[node].peer->channel->send(query); },
           [this] { check_quiet(); }}) {
    for (const Misplaced& misplaced : session_.carried.misplaced) outcome_.add(misplaced);
}

SessionResult Coordinator::run(Session session) {
    std::unique_ptr<Coordinator> coordinator(new Coordinator(std::move(session)));
    SessionResult result = coordinator->run_to_end();
    // A thread in read() or write() still uses these objects, so they are not destroyed.
    if (coordinator->in_use()) (void)coordinator.release();
    return result;
}

SessionResult Coordinator::run_to_end() {
    block_signals(root_signals());
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file's limit fails instead
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (auto opened = open(); !opened) {
        say(opened.error().message);
        return {kOwnFailure, "batchai-launch: " + opened.error().message, Cause::other, {}};
    }
    loop_.run();
    kill_descendants();
    starter_words_.catch_up();
    if (!session_.allocation.local) {
        if (srun_ended_) sweep_nodes(session_.allocation);
        ask_who_ended_it();
    }
    std::string details;
    if (std::string text = outcome_.text(map_, true); !text.empty()) {
        hide(text, secrets_);
        text = sys::printable_lines(text);
        const std::size_t first = text.find('\n');
        details = text.substr(first + 1);
        if (outcome_.exit_code() != 0 && has_colours(2))
            text.replace(0, first, in_red(text.substr(0, first)));
        // The same as in tell(), after the loop has ended.
        const std::size_t done = write_to_user(text);
        if (done < text.size() && err_->idle()) {
            (void)!::write(err_->target().fd, text.data() + done, text.size() - done);
        }
        if (srun_matters_) starter_words_.say();
    }
    if (!written()) {
        const auto& stalled = out_->idle() ? *err_ : *out_;
        say(stalled.target().name +
            ": accepts no more output; the rest of the ranks' output is lost");
    }
    return {outcome_.exit_code(),
            outcome_.line(map_),
            written() ? outcome_.cause() : Cause::other,
            lost_nodes_,
            outcome_.logged(),
            {timeout_left(), outcome_.misplaced(), session_.carried.prepared},
            outcome_.node(map_),
            details,
            outcome_.error_file()};
}

// Slurm may signal ranks alone (proctrack/linuxproc), and ranks may answer with any exit code. So
// no rank or node is blamed for what happened after Slurm began to end the job.
void Coordinator::ask_who_ended_it() {
    const Cause cause = outcome_.cause();
    if (cause != Cause::signal && cause != Cause::rank && cause != Cause::node) return;
    const auto job = slurm::query_own_job(session_.allocation.job.whole(),
                                          session_.allocation.restarts, kAnswer);
    if (!job) return;
    const std::string why = slurm::reason_to_end(*job);
    if (cause != Cause::signal && !why.empty() && !job->runs) {
        // Slurm's time has no fraction. Of a requeued job it is unknown: then all was after it.
        const double since = std::max(job->end_time - kConsequence.count(), 0.0);
        outcome_.add(
            {since, "batchai-launch: asked to end by Slurm", kSignalled + SIGTERM, Cause::signal});
    }
    outcome_.explain_signal(why);
}

std::optional<double> Coordinator::timeout_left() const {
    if (!session_.settings.timeout) return std::nullopt;
    return std::chrono::duration<double>(timeout_.left()).count();
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
    bootstrap.tree = tree();
    for (const std::string& address : addresses) {
        auto listener = listen_at(address, "the agents");
        if (!listener) return listener.error();
        bootstrap.endpoints.push_back(listener->endpoint);
        listeners.push_back(std::move(*listener));
    }
    signals_ =
        std::make_unique<SignalEvents>(loop_, root_signals(), [this](int s) { on_signal(s); });
    const auto on_failure = [this](const Sink::Failure& failure) { on_output_failure(failure); };
    out_ = err_ = std::make_shared<Sink>(loop_, session_.output, on_failure);
    printer_out_ = printer_err_ = std::make_shared<Printer>(loop_, *out_, session_.settings.labels,
                                                            has_colours(session_.output.fd), map_);
    if (!is_same_file(session_.output.fd, session_.error.fd)) {
        err_ = std::make_shared<Sink>(loop_, session_.error, on_failure);
        printer_err_ = std::make_shared<Printer>(loop_, *err_, session_.settings.labels,
                                                 has_colours(session_.error.fd), map_);
    }
    out_->set_on_idle([this] { check_over(); });
    err_->set_on_idle([this] { check_over(); });
    auto starters = start_agents(session_.allocation, bootstrap);
    if (!starters) return starters.error();
    auto key = TlsKey::make(bootstrap.key);  // while the agents start
    if (!key) return key.error();
    key_ = std::move(*key);
    door_ = std::make_unique<Door>(loop_, *key_, std::move(listeners),
                                   [this](Link link) { admit(std::move(link)); });
    starters_ = std::move(*starters);
    starter_words_.listen(loop_, starters_);
    stall_.start(kStall, kStall);
    progress_.start(kProgress, kProgress);
    if (session_.settings.timeout) {
        const double left = session_.carried.timeout_left.value_or(*session_.settings.timeout);
        timeout_.start(milliseconds(static_cast<long>(left * 1000)));
    }
    return {};
}

// ---- the job runs -------------------------------------------------------------------------------

void Coordinator::on_message(int node, Kind kind, Reader& reader) {
    switch (kind) {
        case Kind::output:
            if (Output output; decode(reader, output)) on_output(node, std::move(output));
            return;
        case Kind::misplaced:
            if (Misplaced misplaced; decode(reader, misplaced)) on_misplaced(misplaced);
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
                end_job();
            }
            return;
        case Kind::inspected:
            if (Inspected inspected; decode(reader, inspected)) {
                inspection_.on_inspected(std::move(inspected));
            }
            return;
        case Kind::stack:
            if (Stack stack; decode(reader, stack)) inspection_.on_stack(stack);
            return;
        case Kind::quiet:
            if (Quiet quiet; decode(reader, quiet)) on_quiet(node, quiet.progress);
            return;
        case Kind::fence_answer:
            if (FenceAnswer answer; decode(reader, answer)) fence_inquiry_.on_answer(node, answer);
            return;
        case Kind::signal:
            if (Signal signal; decode(reader, signal) && state_ == State::running) to_all(signal);
            return;
        case Kind::asked:
            if (Asked asked; decode(reader, asked)) on_asked(asked.signal);
            return;
        case Kind::node_done:
            agents_[node].done = true;
            return check_over();
        default:
            relay_.on_message(node, kind, reader);
            return check_awaited();
    }
}

void Coordinator::on_output(int node, Output output) {
    if (output.rank < 0 || output.rank >= map_.size()) return;
    Printer& printer = output.stream == Stream::out ? *printer_out_ : *printer_err_;
    const std::uint64_t size = output.bytes.size();
    printer.write(output.rank, std::move(output.bytes),
                  [this, node, size] { agents_[node].peer->channel->send(OutputTaken{size}); });
}

// If the reader of the output has ended, the ranks are ended too, as SIGPIPE would do. Other
// failures to write do not end them.
void Coordinator::on_output_failure(const Sink::Failure& failure) {
    if (failure.rest == Sink::Rest::unread) return fail(describe(failure, host_name()));
    on_misplaced(misplaced_by(failure, host_name()));
}

void Coordinator::on_misplaced(const Misplaced& misplaced) {
    if (misplaced.returned || outcome_.misplaced().size() < kMostMisplaced) tell(misplaced.line);
    outcome_.add(misplaced);
}

// If standard error is the file that cannot be written, the line goes to the file in which the
// ranks' standard error continues.
void Coordinator::tell(const std::string& line) {
    if (!try_to_say(line)) printer_err_->write_own(said(line));
}

void Coordinator::on_rank_end(int node, RankEnd end) {
    if (end.rank < 0 || end.rank >= map_.size()) return;
    end.time += agents_[node].offset;
    relay_.on_gone(end);
    // Slurm may have sent the signal to the ranks before it sends it to us.
    const bool doubtful = end.how == RankEnd::How::signaled && ends_job(end.code);
    outcome_.add(std::move(end));
    if (doubtful && state_ == State::running) {
        if (!doubt_.active()) doubt_.start(kDoubt);
    } else if (outcome_.failed()) {
        end_job();
    } else {
        check_awaited();
        check_served();
    }
}

// Ends parameter servers and other servers, which do not end by themselves.
void Coordinator::check_served() {
    if (state_ == State::running && outcome_.only_servers_run()) end_job();
}

// A rank that exits with 0 while others wait for it has failed too. It is the first failure,
// because other ranks have ended since as a consequence.
void Coordinator::check_awaited() {
    const int rank = relay_.awaited();
    if (rank < 0 || state_ != State::running) return;
    fail(fmt::format("rank {} on {} ended with code 0 while others wait for it (in MPI_Init, a "
                     "barrier or MPI_Finalize)",
                     rank, map_.nodes[map_.node_of(rank)]),
         1, Cause::rank, outcome_.ended_at(rank));
}

void Coordinator::on_agent_lost(int node) {
    Agent& agent = agents_[node];
    if (state_ == State::over) return check_gone();
    if (agent.done) return;
    agent.done = srun_matters_ = true;
    lost_nodes_.push_back(agent.hello.name);
    outcome_.add(
        {sys::wall_clock(),
         fmt::format("batchai-launch: lost the agent on {}: the node is down, or the agent "
                     "was killed with its guard",
                     agent.hello.name),
         kOwnFailure, Cause::node, false, agent.hello.name});
    end_job();
    check_over();
}

// The notice may come before or after the loss of the agent's connection, or without a connection
// if the agent had not connected yet.
void Coordinator::on_agent_died(const DeathNotice& notice) {
    const std::string line = "batchai-launch: " + notice.sentence;
    if (state_ == State::starting) {
        outcome_.add({sys::wall_clock(), line, kOwnFailure, Cause::node, false, notice.node});
        end_job();
    }
    outcome_.explain_loss(notice.node, line);
}

// ---- standard input -----------------------------------------------------------------------------

void Coordinator::start_input() {
    // If another process group is in the terminal's foreground, reading from the terminal would
    // stop us.
    const bool background = ::isatty(0) != 0 && ::tcgetpgrp(0) != ::getpgrp();
    if (!session_.output_is_ours || background || session_.max_restarts > 0) {
        agents_[0].peer->channel->send(Input{});
        return;
    }
    input_.start();
}

}  // namespace batchai::launcher
