// SPDX-License-Identifier: Apache-2.0
//
// StarterWords: reads the standard error of the starters (launcher/root/starter.hpp). It takes
// death notices of agents out. It keeps the rest of srun's text for a failure that it may explain.
// It writes the text of local agents to the launcher's own standard error at once. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/common/death_notice.hpp"
#include "launcher/common/event_loop.hpp"
#include "launcher/root/starter.hpp"

namespace batchai::launcher {

class StarterWords {
  public:
    StarterWords(bool local, std::function<void(const DeathNotice&)> on_death)
        : local_(local), on_death_(std::move(on_death)) {}

    // Takes their descriptors, and reads them as the loop runs.
    void listen(Loop& loop, std::vector<Starter>& starters);
    // Reads what is there. What a process has written before its end is there once it has ended.
    void catch_up();
    // Prints what was kept, once.
    void say();

  private:
    struct Stream {
        std::unique_ptr<Poll> poll;  // absent: at its end
        std::string line;            // unfinished
    };
    void read(Stream& stream);
    void take(const std::string& line);

    bool local_;
    std::function<void(const DeathNotice&)> on_death_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::string kept_;
};

}  // namespace batchai::launcher
