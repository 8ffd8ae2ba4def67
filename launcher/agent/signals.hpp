// SPDX-License-Identifier: Apache-2.0
//
// Signals as readable events: the named ones are blocked in this thread, and in those it starts
// later, and delivered through a descriptor. Used by root and agent.
#pragma once

#include <csignal>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include "launcher/loop.hpp"

namespace batchai::launcher {

// Blocks the signals; call before any thread is started.
void block_signals(std::initializer_list<int> signals);

class SignalEvents {
  public:
    SignalEvents(Loop& loop, std::initializer_list<int> signals, std::function<void(int)> callback);

  private:
    std::unique_ptr<Poll> poll_;
};

// The signals that the root passes on to the ranks as they are.
inline constexpr std::initializer_list<int> kForwarded = {SIGUSR1, SIGUSR2, SIGCONT, SIGURG};

// "SIGSEGV", or "signal 77".
std::string signal_name(int signal);

}  // namespace batchai::launcher
