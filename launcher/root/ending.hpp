// SPDX-License-Identifier: Apache-2.0
//
// Ending: from a failure, a signal, the timeout or the last rank's end until nothing of the job is
// left. It ends the ranks, waits for their output, and then for the agents and their starters.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "launcher/common/settings.hpp"
#include "launcher/common/signals.hpp"
#include "launcher/root/input_feed.hpp"
#include "launcher/root/inspection.hpp"
#include "launcher/root/outcome.hpp"
#include "launcher/root/printer.hpp"
#include "launcher/root/starter.hpp"

namespace batchai::launcher {

// What a rank does in so short a time before a signal that ends the job is a consequence: Slurm
// may signal ranks first.
inline constexpr std::chrono::seconds kConsequence{1};

// The signals that the root handles.
Signals root_signals();

class Ending {
  public:
    // The parts of the job that end.
    struct Of {
        const RankMap& map;
        Nodes& nodes;
        Starters& starters;
        JobOutput& output;
        InputFeed& input;
        Inspection& inspection;
        Outcome& outcome;
    };
    Ending(Loop& loop, const LaunchSettings& settings, Of of);

    // Measures the timeout from now on. left: what is left of it.
    void start_timeout(double left);
    // Valid after the job's end. None: there is no timeout.
    std::optional<double> timeout_left() const;

    // Ends the job if the script that started this process ends before it. Slurm then ends the job.
    void watch_script();
    // The agents get their orders.
    void begin();
    bool starting() const { return state_ == State::starting; }
    bool running() const { return state_ == State::running; }

    // since: the time of the failure, by the root's clock; none: now.
    void fail(const std::string& line, int code = kOwnFailure, Cause cause = Cause::other,
              std::optional<double> since = {});
    void end_job(int signal = SIGTERM, std::chrono::milliseconds grace = kGraceAfterFailure);
    // The nodes of a cancelled step are killed one after the other, and slurmstepd says on the
    // first one that the step is cancelled only if its agent still runs.
    static constexpr std::chrono::milliseconds kWordOfStep{3000};
    // Ends the job after a moment, in which Slurm may say that it has ended the rank or the agent.
    void end_after(std::chrono::milliseconds moment);
    // A rank has failed: ends the job. signal: it has killed the rank; Slurm may have sent it to
    // the ranks before it sends it to us.
    void on_rank_failed(int signal);
    // A signal to this process.
    void on_signal(int signal);
    // A signal to an agent, from the user or from Slurm. Slurm may have signalled ranks first, so
    // what they did in the last second is a consequence.
    void on_asked(int signal);
    // Call it when a node is done, and when output is written.
    void check_over();
    // Call it when an agent is gone. False: too early.
    bool check_gone();
    // Slurm has killed the agents, because srun has ended too early or their step was cancelled.
    bool agents_killed() const { return agents_killed_; }

  private:
    bool ends_job(int signal) const;
    // Something asks for the end: as its line says.
    void ask(const std::string& why, Outcome::Other asker, int signal);
    bool only_files_are_open() const;
    void on_child();
    void on_deadline();
    void kill_now();
    void pause();
    void say_bye();

    enum class State { starting, running, ending, over };

    Loop& loop_;
    const LaunchSettings& settings_;
    Of of_;
    State state_ = State::starting;
    ActiveTimer timeout_;
    Timer deadline_, doubt_, pause_;
    std::unique_ptr<Poll> script_;
    // What signals have asked for. end_now: the job was ending already.
    enum class Asking { no, end, end_now } asking_ = Asking::no;
    int own_signals_ = 0;                         // that end the job and that this process received
    std::optional<std::uint64_t> bytes_written_;  // at the last look
    bool agents_had_time_ = false;                // for files, after the last rank's end
    bool agents_killed_ = false;
};

}  // namespace batchai::launcher
