// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/end.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "spank/helper/exit_code.hpp"
#include "spank/helper/files.hpp"
#include "spank/helper/root/daemon_notes.hpp"
#include "spank/helper/root/namespace.hpp"
#include "spank/helper/root/setup.hpp"
#include "spank/helper/user/remove_tree.hpp"
#include "spank/helper/user_namespace.hpp"
#include "spank/protocol.hpp"

namespace batchai::spank {
namespace {

// Time limit for removing a temporary directory. A background process removes the rest.
constexpr int kRemoveSeconds = 30;
// Time limit for a FUSE program to write its data to its server.
constexpr int kDaemonSeconds = 20;
// Time limit for all interrupted ends together, in the background.
constexpr int kFinishSeconds = 600;

bool remove_as(const Credentials& owner, const std::string& path, int seconds) {
    return as_user(owner, seconds,
                   [&path]() -> sys::Result<Answer> {
                       if (!remove_tree(path)) return sys::Error{path + ": is not empty"};
                       return Answer{};
                   })
        .has_value();
}

// False: the directory still exists, because removal takes longer or the user may not remove a
// part. Files of a rootless container belong to the user's subordinate ids.
bool remove_of(uid_t user, gid_t group, const std::string& path, int limit) {
    using std::chrono::seconds;
    if (limit <= 0) return false;
    const auto start = std::chrono::steady_clock::now();
    if (remove_as({user, group, {}, true}, path, limit)) return true;
    const auto left = [&] {
        const auto spent = std::chrono::steady_clock::now() - start;
        return limit - static_cast<int>(std::chrono::ceil<seconds>(spent).count());
    };
    if (left() <= 0) return false;
    const auto maps = maps_of(user, group);
    return maps && left() > 0 && remove_as({user, group, {}, true, maps}, path, left());
}

bool finish(const JobDirectory& directory) {
    if (!end_job(directory, kDaemonSeconds, kRemoveSeconds)) return false;
    directory.remove();
    return true;
}

// The result of the preparation, from the plugin's file (once.hpp). nullopt: there was no
// preparation.
std::optional<Counter> preparation_of(const JobDirectory& directory) {
    const std::string text = read_or_empty(directory.fd(), kPreparationFile);
    if (text.empty()) return std::nullopt;
    if (text == "ok\n") return Counter::prepared;
    return text == "started\n" ? Counter::preparation_interrupted : Counter::preparation_failed;
}

// Counts the preparation once, in the process that finishes the end.
bool finish_counted(const JobDirectory& directory, const Counters& counters, Counter done,
                    Counter not_done) {
    const auto preparation = preparation_of(directory);  // finish() removes it
    const bool finished = finish(directory);
    std::vector<std::pair<Counter, std::uint64_t>> what{{finished ? done : not_done, 1}};
    if (finished && preparation) what.emplace_back(*preparation, 1);
    counters.add(what);
    return finished;
}

// Opens a job's directory if its end was interrupted.
std::optional<JobDirectory> open_interrupted(const std::string& job) {
    auto directory = JobDirectory::open(job, false);
    // No state and no lock: the process was killed before the first step or after the last one.
    if (directory && !directory->has(kEndingFile) && directory->has(kStateFile)) directory.reset();
    return directory;
}

// Finishes each job once, also jobs whose end is interrupted meanwhile: their ends start no second
// process.
void finish_all(const Counters& counters) {
    const sys::UniqueFd lock(open(kEndsFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
    std::set<std::string> tried;
    for (bool again = true; std::exchange(again, false);)
        for (const auto& job : JobDirectory::all()) {
            if (tried.contains(job)) continue;
            const auto directory = open_interrupted(job);
            if (!directory) continue;
            tried.insert(job);
            again = true;
            finish_counted(*directory, counters, Counter::swept, Counter::sweep_unfinished);
        }
}

}  // namespace

void add_owner(Fields& state, const Credentials& user, const std::string& job_temp) {
    state.add("uid", user.uid);
    state.add("gid", user.gid);
    state.add("job_temp", job_temp);
}

bool end_namespace(const JobDirectory& directory, int seconds) {
    const Fields state = directory.state();
    const auto user = state.number("uid");
    const bool all =
        kill_processes(directory, user ? *user : 0, root_mount_source(state.get("job_temp")));
    end_daemons(directory, seconds);
    unpin(directory);
    return all;
}

bool end_job(const JobDirectory& directory, int daemon_seconds, int seconds) {
    const Fields state = directory.state();
    const bool all_processes = end_namespace(directory, daemon_seconds);
    const auto uid = state.number("uid");
    const auto gid = state.number("gid");
    const std::string job_temp = state.get("job_temp");
    if (uid && gid && !job_temp.empty() && !remove_of(*uid, *gid, job_temp, seconds)) return false;
    if (!all_processes) return false;
    directory.clear();
    return true;
}

void finish_interrupted_ends(const Counters& counters) {
    const auto jobs = JobDirectory::all();
    constexpr std::size_t kNamed = 8;
    std::string unfinished;
    std::size_t count = 0;
    for (const auto& job : jobs)
        if (open_interrupted(job) && ++count <= kNamed) unfinished += " " + job;
    if (count == 0) return;
    if (count > kNamed) unfinished += " and others";
    // A job that ends now may have the plugin's mark but not yet the helper's lock.
    std::printf(
        "batchai-helper: cleanup is not finished for these jobs and continues in the "
        "background:%s\n",
        unfinished.c_str());
    std::fflush(stdout);
    // The child leaves our session: Slurm ends all processes of the session after our end.
    const pid_t starter = fork();
    if (starter != 0) {
        waitpid(starter, nullptr, 0);
        return;
    }
    setsid();
    if (fork() != 0) _exit(0);
    alarm(kFinishSeconds);  // the next process continues
    const int null = open("/dev/null", O_RDWR);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, standard);
    close_range(3, ~0U, 0);
    finish_all(counters);
    _exit(0);
}

int tear_down(const std::string& job, const Counters& counters) {
    bool finished = true;
    if (access(kJobsDirectory, W_OK) != 0 && errno != ENOENT) {
        std::fprintf(stderr, "batchai-helper: %s: %s: run it as root\n", kJobsDirectory,
                     std::strerror(errno));
        return kFailure;
    }
    unlink((std::string(kAskedDirectory) + "/" + job).c_str());  // the plugin does it in its epilog
    if (access((std::string(kJobsDirectory) + "/" + job).c_str(), F_OK) != 0)
        std::fprintf(stderr, "batchai-helper: %s/%s: there is no such job on this node\n",
                     kJobsDirectory, job.c_str());
    if (const auto directory = JobDirectory::open(job, true); directory) {
        (void)directory->touch(kEndingFile);  // the plugin has done it before our lock
        finished = finish_counted(*directory, counters, Counter::ended, Counter::end_unfinished);
        if (!finished)
            std::fprintf(
                stderr,
                "batchai-helper: %s: is not removed yet: this takes longer, or it contains files "
                "that its user cannot remove. Removal continues in the background\n",
                directory->state().get("job_temp").c_str());
    }
    finish_interrupted_ends(counters);
    return finished ? kSucceeded : kFailure;
}

}  // namespace batchai::spank
