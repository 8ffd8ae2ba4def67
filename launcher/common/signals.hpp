// SPDX-License-Identifier: Apache-2.0
//
// Delivers signals as readable events. The named signals are blocked in this thread and in threads
// that it starts later, and arrive through a descriptor. Root and agent use it.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/common/event_loop.hpp"

namespace batchai::launcher {

using Signals = std::vector<int>;

sigset_t set_of(const Signals& signals);

// Blocks the signals; call before any thread is started. SIGHUP stays ignored where it is: nohup.
void block_signals(const Signals& signals);

class SignalEvents {
  public:
    SignalEvents(Loop& loop, const Signals& signals, std::function<void(int)> callback);

  private:
    std::unique_ptr<Poll> poll_;
};

// Those that are passed on to the ranks as they are.
bool is_forwarded(int signal);

// All that root, guard and agent take: the forwarded ones, those that end the job, SIGQUIT,
// SIGCHLD.
Signals handled_signals();

// "SIGSEGV", or "signal 77".
std::string signal_name(int signal);

}  // namespace batchai::launcher
