// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/guard.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "launcher/common/bootstrap.hpp"
#include "launcher/common/exit_code.hpp"
#include "launcher/common/limits.hpp"
#include "launcher/common/processes.hpp"
#include "launcher/common/say.hpp"
#include "launcher/common/signals.hpp"
#include "sys/subprocess.hpp"

namespace batchai::launcher {
namespace {

// scancel --full signals the launcher's script and the agents' step, within this time.
constexpr std::chrono::milliseconds kSameSignal{1000};

[[noreturn]] void give_up(const std::string& message) {
    say(message);
    std::_Exit(kOwnFailure);
}

// Returns the agent's wait status after the agent has ended.
int pass_signals_to(pid_t agent) {
    const sigset_t set = set_of(handled_signals());
    int status = 0;
    while (true) {
        const int signal = ::sigwaitinfo(&set, nullptr);
        if (signal > 0 && signal != SIGCHLD) ::kill(agent, signal);
        if (::waitpid(agent, &status, WNOHANG) == agent) return status;
    }
}

}  // namespace

void Guarded::remove(bool orderly) const {
    scratch.remove();
    if (!orderly && !job_directory.empty()) remove_scratch(job_directory);
}

bool Guarded::is_second_copy(int signal, pid_t sender) {
    if (signal == SIGCONT || signal == SIGSTOP) return false;  // twice is as once
    const auto now = std::chrono::steady_clock::now();
    const auto found = last_.find(signal);
    if (found != last_.end() && found->second.sender != sender &&
        now - found->second.time < kSameSignal)
        return true;
    last_[signal] = {sender, now};
    return false;
}

Guarded start_guard(const std::string& node, const std::string& job_directory,
                    const std::string& scratch_name) {
    block_signals(handled_signals());  // after this, a signal must not skip the cleanup
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // writing beyond the file size limit then fails with an error
    sweep_scratch();
    auto scratch = Scratch::make(scratch_name);
    if (!scratch) give_up(scratch.error().message);
    Guarded guarded(std::move(*scratch), job_directory);
    ::mkdir(guarded.server_directory().c_str(), 0700);
    ::mkdir(guarded.client_directory().c_str(), 0700);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t agent = ::fork();
    if (agent < 0) {
        const sys::Error why = fork_error(errno);
        guarded.remove(false);
        give_up(why.message);
    }
    if (agent == 0) {
        // SIGTERM, not SIGKILL: the agent then ends its ranks and removes the directories itself.
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        ::setpgid(0, 0);
        if (!guarded.has_guard()) std::_Exit(kOwnFailure);
        return guarded;
    }
    const int status = pass_signals_to(agent);
    if (WIFSIGNALED(status)) say(DeathNotice(node, WTERMSIG(status)).sentence);
    kill_descendants();
    guarded.remove(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    std::_Exit(sys::exit_code_of(status));
}

}  // namespace batchai::launcher
