// SPDX-License-Identifier: Apache-2.0
//
// ProgressPages: one file for each rank of the node, in which the collective library notes the
// rank's current operation (collectives/comm/progress.hpp). The agent can read a file even if the
// rank hangs.
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
    // directory: one of the agent's, in memory if possible; its owner removes it.
    explicit ProgressPages(std::string directory) : directory_(std::move(directory)) {}

    // Makes a rank's page and names it in the rank's environment. If there is no space for a page,
    // the rank's progress is unknown.
    void offer(int rank, std::map<std::string, std::string>& environment);
    // Call look() first. The time in a stage is only as exact as the interval between looks.
    RankProgress progress(int rank) const;
    // The process that writes the page; 0: none.
    pid_t process(int rank) const;
    // The file to which a Python rank writes its stacks.
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
        std::chrono::steady_clock::time_point time;  // of the last change
    };
    std::map<int, Seen> seen_;
};

}  // namespace batchai::launcher
