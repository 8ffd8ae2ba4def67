// SPDX-License-Identifier: Apache-2.0
//
// Inspection: finds out what keeps a job from going on. It asks all ranks for their state: at the
// user's SIGQUIT, at a timeout that is about to end the ranks, and at a stall, when no rank makes
// progress and some wait. First it collects all answers, then it prints the waiting ranks and those
// that they wait for, then the stacks of a few.
//
// It also names the nodes for which a fence waits. The root knows which of its children in the tree
// have not given their data, and asks the nodes below them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/root/hang.hpp"
#include "launcher/root/relay.hpp"

namespace batchai::launcher {

class Inspection {
  public:
    // map: the job's. It must be complete when the job begins. hang_report: seconds.
    Inspection(Loop& loop, Nodes& nodes, const Relay& relay, const RankMap& map,
               double hang_report);

    // The job runs.
    void begin();
    // The job ends: only fences that wait are still reported.
    void job_ends();
    void stop();
    // Asks all ranks, for the user. The report ends with a line of its own, for which `batchai job
    // stacks` waits.
    void ask();
    // Asks all ranks. then: called when the inspection is complete, or at once if the job does not
    // run, but not after job_ends().
    void ask(std::function<void()> then) { ask({}, std::move(then)); }
    // False: it is another kind of message.
    bool on_message(int node, Kind kind, Reader& reader);

  private:
    void ask(const std::string& why, std::function<void()> then);
    void on_inspected(Inspected inspected);
    void on_stack(const Stack& stack);
    void tell();
    void tell_processes(const HangReport& hang) const;
    void end();
    void on_quiet(int node, Quiet::Progress progress);
    void check_quiet();
    void look_at_fences();
    void ask_about_fence();
    void on_fence_answer(int node, const FenceAnswer& answer);

    Nodes& nodes_;
    const Relay& relay_;
    const RankMap& map_;
    const double hang_report_;
    bool running_ = false;
    Timer answers_, fences_;
    struct UnderWay {
        std::string why;  // printed before the first line
        std::function<void()> then;
        std::size_t unanswered = 0;
        std::vector<RankState> ranks;
        bool stacks = false;  // it waits for stacks
    };
    std::optional<UnderWay> under_way_;
    std::vector<Quiet::Progress> progress_;  // of each node
    bool hang_said_ = false;
    std::optional<FenceId> seen_;  // unfinished at the last look
    bool asked_ = false;           // about that fence
    struct Question {
        FenceId fence;
        std::size_t unanswered = 0;
        std::vector<int> missing;
    };
    std::optional<Question> question_;
};

}  // namespace batchai::launcher
