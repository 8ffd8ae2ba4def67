// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace batchai::launcher {
namespace {

constexpr std::array kForwarded = {SIGUSR1,  SIGUSR2, SIGALRM, SIGCONT, SIGURG,
                                   SIGWINCH, SIGXCPU, SIGIO,   SIGPWR};

}  // namespace

sigset_t set_of(const Signals& signals) {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : signals) sigaddset(&set, signal);
    return set;
}

bool is_forwarded(int signal) {
    return std::find(kForwarded.begin(), kForwarded.end(), signal) != kForwarded.end();
}

Signals handled_signals() {
    Signals signals{SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    signals.insert(signals.end(), kForwarded.begin(), kForwarded.end());
    return signals;
}

void block_signals(const Signals& signals) {
    sigset_t set = set_of(signals);
    for (int signal : {SIGHUP, SIGINT}) {
        struct sigaction action {};
        ::sigaction(signal, nullptr, &action);
        if (action.sa_handler == SIG_IGN) sigdelset(&set, signal);  // a blocked one would be kept
    }
    sigprocmask(SIG_BLOCK, &set, nullptr);
}

SignalEvents::SignalEvents(Loop& loop, const Signals& signals, Callback callback) {
    const sigset_t set = set_of(signals);
    sys::UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    poll_ =
        std::make_unique<Poll>(loop, std::move(fd), [callback = std::move(callback)](int readable) {
            signalfd_siginfo info;
            while (::read(readable, &info, sizeof info) == sizeof info) {
                callback(static_cast<int>(info.ssi_signo), static_cast<pid_t>(info.ssi_pid));
            }
        });
}

std::string signal_name(int signal) {
    const char* name = ::sigabbrev_np(signal);
    return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace batchai::launcher
