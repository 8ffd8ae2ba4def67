// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cstring>

namespace batchai::launcher {
namespace {

sigset_t set_of(std::initializer_list<int> signals) {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : signals) sigaddset(&set, signal);
    return set;
}

}  // namespace

void block_signals(std::initializer_list<int> signals) {
    const sigset_t set = set_of(signals);
    sigprocmask(SIG_BLOCK, &set, nullptr);
}

SignalEvents::SignalEvents(Loop& loop, std::initializer_list<int> signals,
                           std::function<void(int)> callback) {
    const sigset_t set = set_of(signals);
    sys::UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    poll_ =
        std::make_unique<Poll>(loop, std::move(fd), [callback = std::move(callback)](int readable) {
            signalfd_siginfo info;
            while (::read(readable, &info, sizeof info) == sizeof info) {
                callback(static_cast<int>(info.ssi_signo));
            }
        });
}

std::string signal_name(int signal) {
    const char* name = ::sigabbrev_np(signal);
    return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace batchai::launcher
