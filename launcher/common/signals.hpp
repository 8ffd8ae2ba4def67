// SPDX-License-Identifier: Apache-2.0
//
// Delivers signals as events of a descriptor. The signals are blocked in this thread and in threads
// that it starts later. Used by root and agent.
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

// Blocks the signals. Call it before any thread starts. SIGHUP stays ignored if it is (nohup), and
// so does SIGINT: a script's shell ignores it for a job with "&", which goes on when the user ends
// the script's foreground with Ctrl-C. SIGQUIT is handled in any case: it ends nothing.
void block_signals(const Signals& signals);

class SignalEvents {
  public:
    // sender: the process that has sent the signal; 0: the kernel.
    using Callback = std::function<void(int signal, pid_t sender)>;
    SignalEvents(Loop& loop, const Signals& signals, Callback callback);

  private:
    std::unique_ptr<Poll> poll_;
};

// Whether the signal is passed on to the ranks unchanged.
bool is_forwarded(int signal);

// All signals that root, guard and agent handle: the forwarded ones, those that end the job,
// SIGQUIT and SIGCHLD.
Signals handled_signals();

// "SIGSEGV", or "signal 77".
std::string signal_name(int signal);

}  // namespace batchai::launcher
