// SPDX-License-Identifier: Apache-2.0
//
// StarterWords: reads the standard error of the starters (launcher/root/starter.hpp). It removes
// the agents' death notices from it. It keeps the other text of srun for a failure that it may
// explain, and writes the text of local agents to the launcher's standard error at once. For one
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/common/bootstrap.hpp"
#include "launcher/common/event_loop.hpp"
#include "launcher/root/starter.hpp"

namespace batchai::launcher {

class StarterWords {
  public:
    StarterWords(bool local, std::function<void(const DeathNotice&)> on_death)
        : local_(local), on_death_(std::move(on_death)) {}

    // Takes the starters' descriptors and reads them in the loop.
    void listen(Loop& loop, std::vector<Starter>& starters);
    // Reads what is available. When a process has ended, this is everything that it has written.
    void catch_up();
    // Prints the kept text, once.
    void say();

  private:
    struct Stream {
        std::unique_ptr<Poll> poll;  // null after the end of the text
        std::string line;            // an unfinished line
    };
    void read(Stream& stream);
    void take(const std::string& line);

    bool local_;
    std::function<void(const DeathNotice&)> on_death_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::string kept_;
};

}  // namespace batchai::launcher
