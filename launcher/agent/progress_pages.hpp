// SPDX-License-Identifier: Apache-2.0
//
// ProgressPages: one file for each rank of the node, in which the collective library notes the
// rank's current operation (collectives/comm/progress.hpp). Reading a file needs no help of the
// rank.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectives/comm/progress.hpp"
#include "launcher/common/message.hpp"

namespace batchai::launcher {

class ProgressPages {
  public:
    // directory: of the agent's, in memory if possible; removed by its owner.
    explicit ProgressPages(std::string directory) : directory_(std::move(directory)) {}

    // Makes a rank's page and names it in its environment. Without one, for lack of space, nothing
    // is known of the rank.
    void offer(int rank, std::map<std::string, std::string>& environment);
    // Call look() before: its time in its stage is known only as exactly as there are looks.
    RankProgress progress(int rank) const;
    // The process that writes the page; 0: none does.
    pid_t process(int rank) const;
    // Where a Python rank writes its stacks.
    std::string stack_file(int rank) const;

    struct Activity {
        bool moved = false;    // a rank has made progress since the last look
        bool waiting = false;  // a rank waits for others
    };
    Activity look(const std::vector<int>& ranks);

  private:
    std::string path(int rank) const;
    std::optional<coll::ProgressCopy> read(int rank) const;

    std::string directory_;
    std::map<int, sys::UniqueFd> files_;
    struct Seen {
        std::uint64_t moves = 0;
        std::chrono::steady_clock::time_point time;  // when it was new
    };
    std::map<int, Seen> seen_;
};

}  // namespace batchai::launcher
