// SPDX-License-Identifier: Apache-2.0
//
// RankOutput: sends the output of the node's ranks to the root, to files of their own, or to both.
// It counts the output that neither has taken yet. Above a limit, the agent stops reading from the
// ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "launcher/agent/rank_files.hpp"
#include "launcher/common/message.hpp"
#include "launcher/common/program.hpp"
#include "launcher/env/env.hpp"

namespace batchai::launcher {

class RankOutput {
  public:
    struct Callbacks {
        std::function<void(const Output&)> to_root;
        std::function<void(const Sink::Failure&)> on_failure;  // a file cannot be written
        std::function<void(bool hold)> hold;  // stop reading from the ranks, or read again
        std::function<void()> on_idle;        // idle() may have become true
    };
    RankOutput(Loop& loop, Callbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}

    // Opens the files of this node's ranks before they start. environment: the job's on this node;
    // paths may use its variables.
    sys::Result<void> open(const Launch& job, int node, const env::Environment& environment,
                           const Meeting& meeting);
    void write(int rank, Stream stream, std::string bytes);
    // The root, or a file, has taken this many bytes.
    void taken(std::uint64_t bytes);
    // No more output follows: see Sink::finish().
    void finish();
    // Whether the files have all output.
    bool idle() const { return !files_ || files_->idle(); }

  private:
    Loop& loop_;
    Callbacks callbacks_;
    std::unique_ptr<RankFiles> files_;  // null before the ranks start
    std::set<int> own_;                 // ranks whose output goes only to a file, not to the root
    std::uint64_t untaken_ = 0;
};

}  // namespace batchai::launcher
