// SPDX-License-Identifier: Apache-2.0
//
// Outcome: how the job ended. It collects the agents' reports about their ranks and finds the first
// failure. The earliest failure by the root's clock is the cause; later ends are consequences.
// Pure, so that the rules can be tested.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/common/map.hpp"
#include "launcher/common/message.hpp"
#include "launcher/common/program.hpp"

namespace batchai::launcher {

// What ended the job.
enum class Cause {
    none,
    rank,    // one that failed
    node,    // lost, or the agent on it
    signal,  // asked to end: by the user, at the time limit, to make room
    other,   // nothing that another try would mend
};

// The ranks have ended well, and some of their output is not where it belongs.
inline constexpr int kMisplacedCode = 123;
// As many files of it are named.
inline constexpr std::size_t kMostMisplaced = 8;

class Outcome {
  public:
    // time is corrected to the root's clock.
    void add(RankEnd end);
    // A failure that is no rank's.
    struct Other {
        double time = 0;
        std::string line;
        int code = 125;
        Cause cause = Cause::other;
        bool logged = false;    // on the node already
        std::string node = {};  // whose agent is lost
    };
    void add(Other other) { others_.push_back(std::move(other)); }

    // Output that could not be written where it belongs: no failure while the job runs, and one at
    // its end, if there is no other.
    void add_misplaced(std::string line) { misplaced_.push_back(std::move(line)); }
    // What was kept in this place, "n1:/var/tmp/...", is in its file after all. What an earlier
    // attempt of the job has kept of the same file is in a place of its own.
    void take_back(const std::string& place) {
        std::erase_if(misplaced_,
                      [&](const std::string& line) { return line.ends_with(" " + place); });
    }
    const std::vector<std::string>& misplaced() const { return misplaced_; }

    // Those that serve the others end with them, and that is no failure.
    void set_programs(const std::vector<Program>& programs) { programs_ = programs; }
    // All other ranks have ended well, and some of those run.
    bool only_servers_run() const;

    // Ranks that this signal has ended since then had been asked to, before we knew of it.
    void excuse(int signal, double since);

    // Adds to the line of a signal why it was sent.
    void explain_signal(const std::string& why);

    // Says instead of the line of a lost agent how it died.
    void explain_loss(const std::string& node, const std::string& line);

    bool failed() const;
    Cause cause() const;
    // Of the first failure; 0: none.
    int exit_code() const;
    // "batchai-launch: rank 2 on n2 exited with code 3 after 1.2 s"; empty: no failure.
    std::string line(const RankMap& map) const;
    // Where the first failure happened; empty: no one place.
    std::string node(const RankMap& map) const;
    bool logged() const;
    // Everything to print: the line, the culprit's last words, the count of the others, misplaced
    // output.
    std::string text(const RankMap& map, bool with_tail) const;
    std::size_t ended() const { return ends_.size(); }
    bool has_ended(int rank) const { return ends_.contains(rank); }
    // None: it has not, as far as anybody has said.
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

    std::map<int, RankEnd> ends_;  // by rank; an abort counts, the exit that follows it does not
    std::vector<Other> others_;
    std::vector<std::string> misplaced_;
    std::vector<Program> programs_;
};

}  // namespace batchai::launcher
