// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/guard.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "launcher/agent/processes.hpp"

namespace batchai::launcher {
namespace {

std::string make_directory(std::string pattern) {
    return ::mkdtemp(pattern.data()) == nullptr ? std::string() : pattern;
}

GuardedDirectories make_directories() {
    GuardedDirectories made;
    made.base = make_directory("/tmp/batchai-XXXXXX");
    if (made.base.empty()) {
        std::perror("batchai-launch: making a directory in /tmp");
        std::exit(125);
    }
    ::mkdir((made.base + "/s").c_str(), 0700);
    ::mkdir((made.base + "/c").c_str(), 0700);
    made.shm = make_directory("/dev/shm/batchai-XXXXXX");
    if (made.shm.empty()) made.shm = made.base + "/c";
    return made;
}

// Signals are the agent's business; the guard must survive them to clean up.
void ignore_signals() {
    for (int signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE}) {
        std::signal(signal, SIG_IGN);
    }
}

}  // namespace

void remove(const GuardedDirectories& directories) {
    std::error_code ignored;
    for (const std::string& path : {directories.base, directories.shm, directories.job}) {
        if (!path.empty()) std::filesystem::remove_all(path, ignored);
    }
}

GuardedDirectories start_guard(const std::string& job_directory) {
    GuardedDirectories made = make_directories();
    made.job = job_directory;
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t guard = ::getpid();
    const pid_t agent = ::fork();
    if (agent < 0) {
        std::perror("batchai-launch: fork");
        remove(made);
        std::exit(125);
    }
    if (agent == 0) {
        // SIGTERM, not SIGKILL: the agent then ends its ranks and removes the directories itself.
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        if (::getppid() != guard) std::exit(125);
        return made;
    }
    ignore_signals();
    int status = 0;
    while (::waitpid(agent, &status, 0) < 0 && errno == EINTR) continue;
    kill_descendants();
    remove(made);
    // Without the agent's exit code nobody has been told what happened; Slurm or the root see it.
    std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace batchai::launcher
