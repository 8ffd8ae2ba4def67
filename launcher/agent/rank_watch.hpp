// SPDX-License-Identifier: Apache-2.0
//
// RankWatch: reports the state of the node's ranks when the root asks. It also reports to the root
// when the ranks stop or resume making progress.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/comm/progress.hpp"
#include "launcher/agent/pmix_host.hpp"
#include "launcher/agent/rank_sampler.hpp"
#include "launcher/agent/ranks.hpp"
#include "launcher/agent/stacks.hpp"
#include "launcher/common/channel.hpp"
#include "launcher/env/env.hpp"

namespace batchai::launcher {

// One file for each rank of the node, in which the collective library notes the rank's current
// operation (collectives/comm/progress.hpp). The agent can read a file even if the rank hangs.
class ProgressPages {
  public:
    // directory: one of the agent's, in memory if possible; its owner removes it.
    explicit ProgressPages(std::string directory) : directory_(std::move(directory)) {}

    // Makes a rank's page and names it in the rank's environment. If there is no space for a page,
    // the rank's progress is unknown. first: the number of the first rank of its job.
    void offer(int rank, int first, std::map<std::string, std::string>& environment);
    // The rank has ended: removes its page.
    void remove(int rank);
    // Call look() first. The time in a stage is only as exact as the interval between looks.
    RankProgress progress(int rank) const;
    // The process that writes the page; 0: none.
    pid_t process(int rank) const;
    // The file to which a Python rank writes its stacks.
    std::string stack_file(int rank) const;
    // nullopt: the rank has not called init. `missing` has the launch's numbers of ranks, which
    // differ from the page's in a further job.
    std::optional<coll::ProgressCopy> read(int rank) const;

    struct Activity {
        bool moved = false;    // a rank has made progress since the last look
        bool waiting = false;  // a rank waits for others
    };
    Activity look(const std::vector<int>& ranks);

  private:
    std::string path(int rank) const;

    std::string directory_;
    struct Page {
        sys::UniqueFd file;
        int first = 0;
    };
    std::map<int, Page> pages_;
    struct Seen {
        std::uint64_t moves = 0;
        std::chrono::steady_clock::time_point time;  // of the last change
    };
    std::map<int, Seen> seen_;
};

// "'grad.3' (operation 7, allreduce of ...)": the page's operation.
std::string words_for(const coll::ProgressCopy& page);

class RankWatch {
  public:
    // The agent's objects. They outlive this object.
    struct Node {
        const env::Environment& environment;  // its PATH is searched for a debugger
        const Ranks& ranks;
        const PmixHost& pmix;
        Channel& root;
    };
    // pages: a directory for the ranks' pages.
    RankWatch(Loop& loop, const std::string& pages, Node node);

    // Call it before the rank starts.
    void offer(int rank, int first, env::Environment& environment) {
        pages_.offer(rank, first, environment);
    }
    // From now on, reports to the root when no rank has made progress for quiet_after; 0: no
    // reports.
    void start(std::chrono::milliseconds quiet_after);

    // Sends the state of the ranks that run.
    void inspect();
    // Sends what the ranks do, for a user who watches the job.
    void sample() { sampler_.answer(); }
    // A rank has ended.
    void forget(int rank) { pages_.remove(rank); }
    // Sends the rank's stack when it is known.
    void read_stack(int rank);
    // A child of the agent has ended; it may be a debugger.
    void reap(pid_t pid) { stacks_.reap(pid); }

  private:
    pid_t process_of(int rank) const;
    void look();

    Loop& loop_;
    Node node_;
    ProgressPages pages_;
    StackReader stacks_;
    RankSampler sampler_;
    std::unique_ptr<Timer> timer_;              // null before the ranks start
    std::chrono::milliseconds quiet_after_{0};  // 0: no reports
    ActiveClock still_;                         // time since a look last saw progress of any rank
    bool quiet_ = false;                        // reported
};

}  // namespace batchai::launcher
