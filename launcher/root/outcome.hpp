// SPDX-License-Identifier: Apache-2.0
//
// Outcome: how the job ended. It collects the agents' reports about their ranks and finds the first
// failure. The earliest one by the root's clock is the cause, and later ends are its consequences.
// Pure, so that unit tests can cover its rules.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/common/exit_code.hpp"
#include "launcher/common/map.hpp"
#include "launcher/common/message.hpp"
#include "launcher/common/program.hpp"

namespace batchai::launcher {

// What ended the job.
enum class Cause {
    none,
    rank,    // a rank that failed
    node,    // a node or its agent that was lost
    signal,  // a signal: from the user, at the time limit, or for another job
    other,   // a failure that another attempt cannot cure
};

// At most so many files with misplaced output are named.
inline constexpr std::size_t kMostMisplaced = 8;

class Outcome {
  public:
    // time: already converted to the root's clock.
    void add(RankEnd end);
    // A failure that is not a rank's.
    struct Other {
        double time = 0;
        std::string line;
        int code = kOwnFailure;
        Cause cause = Cause::other;
        bool logged = false;    // on the node already
        std::string node = {};  // the node of a lost agent
    };
    void add(Other other) { others_.push_back(std::move(other)); }

    // Output that could not be written to its file. It is not a failure while the job runs. At the
    // end it is one, if there is no other. Output that has returned to its file does not count.
    void add(const Misplaced& misplaced);
    const std::vector<Misplaced>& misplaced() const { return misplaced_; }

    // Servers end with the ranks that they serve, and this is not a failure.
    void set_programs(const std::vector<Program>& programs) { programs_ = programs; }
    // Whether all other ranks have succeeded and servers still run.
    bool only_servers_run() const;

    // Adds to the line of a signal why it was sent.
    void explain_signal(const std::string& why);

    // Replaces the line of a lost agent by the cause of its death.
    void explain_loss(const std::string& node, const std::string& line);

    bool failed() const;
    Cause cause() const;
    // The first failure's; 0: no failure.
    int exit_code() const;
    // "batchai-launch: rank 2 on n2 exited with code 3 after 1.2 s"; empty: no failure.
    std::string line(const RankMap& map) const;
    // The node of the first failure; empty: no particular node.
    std::string node(const RankMap& map) const;
    // The name of the file with the standard error of the rank that failed first; empty: the root
    // has it, or no rank failed first.
    std::string error_file() const;
    bool logged() const;
    // Everything to print: the failure's line, the last lines of the failed rank's stderr, the
    // number of other failures, and output that is not in its file.
    std::string text(const RankMap& map, bool with_tail) const;
    std::size_t ended() const { return ends_.size(); }
    bool has_ended(int rank) const { return ends_.contains(rank); }
    // None: the end is not known.
    std::optional<double> ended_at(int rank) const {
        const auto end = ends_.find(rank);
        return end == ends_.end() ? std::nullopt : std::optional(end->second.time);
    }

  private:
    bool is_failure(const RankEnd& end) const;
    bool serves(int rank) const;
    const RankEnd* first_rank() const;
    const Other* first_other() const;
    std::string followers(const RankMap& map, const RankEnd* culprit) const;

    std::map<int, RankEnd> ends_;  // by rank; an abort is kept, and the exit after it ignored
    std::vector<Other> others_;
    std::vector<Misplaced> misplaced_;
    std::vector<Program> programs_;
};

}  // namespace batchai::launcher
