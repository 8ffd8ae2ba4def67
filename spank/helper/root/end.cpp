// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/end.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "spank/helper/exit_code.hpp"
#include "spank/helper/files.hpp"
#include "spank/helper/root/child.hpp"
#include "spank/helper/root/daemon_notes.hpp"
#include "spank/helper/root/namespace.hpp"
#include "spank/helper/root/setup.hpp"
#include "spank/helper/root/trusted_policy.hpp"
#include "spank/helper/user/remove_tree.hpp"
#include "spank/helper/user_namespace.hpp"
#include "spank/protocol.hpp"
#include "sys/digest.hpp"
#include "sys/file.hpp"
#include "sys/pipe.hpp"
#include "sys/text.hpp"

namespace batchai::spank {
namespace {

// Time limits of one try to end a job. The process that Slurm waits for gives the removal of the
// temporary directory little, because users choose its size, and FUSE programs enough to write
// their data to their servers. The background process takes over.
constexpr int kDaemonSeconds = 20;
constexpr int kFirstRemoveSeconds = 5;
constexpr int kRemoveSeconds = 30;
// Larger than the sum of a try's own limits. A process that waits for a server exceeds it.
constexpr int kTrySeconds = 120;
// The longest pause between two tries of the background process. The first takes a second, each
// other one twice as long as the one before.
constexpr unsigned kPauseSeconds = 60;

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

// The result of the preparation, from the plugin's file (spank/state.hpp). nullopt: there was no
// preparation.
std::optional<Counter> preparation_of(const JobDirectory& directory) {
    const std::string text = read_or_empty(directory.fd(), kPreparationFile);
    if (text.empty()) return std::nullopt;
    if (text == "ok\n") return Counter::prepared;
    return text == "started\n" ? Counter::preparation_interrupted : Counter::preparation_failed;
}

// Leaves in the state what later tries need, so that no options and no secrets of the job stay on
// the node with files that cannot be removed.
void forget_all_but_the_end(const JobDirectory& directory) {
    const Fields state = directory.state();
    Fields kept;
    for (const char* name : {"uid", "gid", "job_temp"})
        if (!state.get(name).empty()) kept.add(name, state.get(name));
    if (directory.has(kStateFile)) (void)directory.write_state(kept, {});
}

// Ends a job and counts it. The name of its directory is free for a new job from the start, so that
// no job waits for this. Counts the preparation once, in the process that finishes the end.
sys::Result<void> finish(JobDirectory directory, int remove_seconds, const Counters& counters,
                         Counter done, Counter not_done) {
    const auto preparation = preparation_of(directory);  // remove() removes it
    if (!JobDirectory::is_aside(directory.name())) (void)directory.set_aside();
    forget_all_but_the_end(directory);
    const auto finished = end_job(directory, kDaemonSeconds, remove_seconds);
    if (finished) directory.remove();
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

std::vector<std::string> interrupted() {
    auto jobs = JobDirectory::all();
    std::erase_if(jobs, [](const std::string& job) { return !open_interrupted(job); });
    return jobs;
}

// The plugin has done it, except for an admin who runs the helper. False: /run is full.
bool mark_ending(const std::string& job) {
    const std::string mark = std::string(kJobsDirectory) + "/" + job + "/" + kEndingFile;
    const sys::UniqueFd made(open(mark.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    return made || errno == ENOENT;
}

bool exists(const std::string& job) {
    return access((std::string(kJobsDirectory) + "/" + job).c_str(), F_OK) == 0;
}

void name_unfinished(const std::vector<std::string>& jobs) {
    if (jobs.empty()) return;
    constexpr std::size_t kNamed = 8;
    std::string names;
    for (std::size_t i = 0; i < std::min(jobs.size(), kNamed); ++i) names += " " + jobs[i];
    if (jobs.size() > kNamed) names += " and others";
    std::printf(
        "batchai-helper: cleanup is not finished for these jobs and continues in the "
        "background:%s\n",
        names.c_str());
    std::fflush(stdout);
}

// Runs in a process of its own, because it may wait for a dead server for ever. The process keeps
// the lock of the job's directory, so there is no second one for the job.
sys::Result<void> finish_apart(const std::string& job, const Counters& counters) {
    const auto work = [&]() -> sys::Result<Answer> {
        auto directory = open_interrupted(job);
        if (!directory) return Answer{};
        const auto finished = finish(*std::move(directory), kRemoveSeconds, counters,
                                     Counter::swept, Counter::sweep_unfinished);
        if (!finished) return finished.error();
        return Answer{};
    };
    const auto answer = as_user({geteuid(), getegid(), {}}, kTrySeconds, work);
    return answer ? sys::Result<void>() : answer.error();
}

// Tries each job once, also jobs whose end is interrupted meanwhile: their ends start no second
// process. Leaves the jobs that are not finished in left, and names those that are new there.
void try_each(const Counters& counters, std::set<std::string>& left) {
    std::set<std::string> tried;
    for (bool again = true; std::exchange(again, false);)
        for (const auto& job : JobDirectory::all()) {
            if (tried.contains(job) || !open_interrupted(job)) continue;
            tried.insert(job);
            again = true;
            const auto done = finish_apart(job, counters);
            if (!done && left.insert(job).second)
                syslog(LOG_DAEMON | LOG_WARNING,
                       "cleanup of job %s is not finished, and is tried again: %s", job.c_str(),
                       sys::printable(done.error().message).c_str());
        }
    std::erase_if(left, [](const std::string& job) { return !exists(job); });
}

// Runs in the background until no end is left. There is one such process on the node.
void finish_all(const Counters& counters) {
    // The last look comes after the lock is given back: a process that could not take it meanwhile
    // has left its job to us.
    while (!interrupted().empty()) {
        const sys::UniqueFd lock(open(kEndsFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
        std::set<std::string> left;
        unsigned pause = 1;
        for (try_each(counters, left); !left.empty(); try_each(counters, left)) {
            while (waitpid(-1, nullptr, WNOHANG) > 0) {  // children that were left behind
            }
            sleep(pause);
            pause = std::min(2 * pause, kPauseSeconds);
        }
    }
}

// Runs work in a process that leaves our session: Slurm ends all processes of the session after our
// end. Of our open files it keeps one as its standard error (-1: none).
template <class F>
void detach(int errors, F work) {
    const pid_t starter = fork();
    if (starter != 0) {
        waitpid(starter, nullptr, 0);
        return;
    }
    setsid();
    if (fork() != 0) _exit(0);
    signal(SIGPIPE, SIG_IGN);
    const int null = open("/dev/null", O_RDWR);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) dup2(null, standard);
    dup2(errors < 0 ? null : errors, STDERR_FILENO);
    close_range(3, ~0U, 0);
    if (chdir("/") == 0) work();
    _exit(0);
}

enum class Ended : char { unfinished = 1, finished = 2, late, killed };

// Copies what the process in the background writes to our standard error, until it writes one of
// the first two values. late: it takes longer than the seconds.
Ended pass_on(int pipe, int seconds) {
    using std::chrono::steady_clock;
    const auto deadline = steady_clock::now() + std::chrono::seconds(seconds);
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
        pollfd event = {pipe, POLLIN, 0};
        const int ready = poll(&event, 1, static_cast<int>(std::max<long>(left.count(), 0)));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return Ended::late;
        char buffer[4096];
        const ssize_t length = read(pipe, buffer, sizeof buffer);
        if (length <= 0) return Ended::killed;
        std::string_view text(buffer, static_cast<std::size_t>(length));
        const auto last = static_cast<Ended>(text.back());
        const bool is_over = last == Ended::unfinished || last == Ended::finished;
        if (is_over) text.remove_suffix(1);
        (void)sys::write_all(STDERR_FILENO, text);
        if (is_over) return last;
    }
}

void say_unfinished(const std::string& job, const std::string& why) {
    std::fprintf(stderr, "batchai-helper: job %s: %s. It continues in the background\n",
                 job.c_str(), sys::printable(why).c_str());
}

// Ends the job in a process that goes on if it takes longer than the seconds, and then finishes
// other ends. Returns whether it is finished, or prints why not. is_marked: the job's directory has
// the mark of its end, by which it differs from that of a new run of the job.
bool end_within(const std::string& job, bool is_marked, int seconds, const Counters& counters) {
    auto pipe = sys::make_pipe();
    if (!pipe) {
        say_unfinished(job, pipe.error().message);
        return false;
    }
    detach(pipe->write.get(), [&] {
        // A set-up that was killed may still have the lock, while it waits for a server.
        auto directory = JobDirectory::open(job, true);
        sys::Result<void> done;
        // A new run of the job removes the mark.
        if (directory && (!is_marked || directory->has(kEndingFile))) {
            done = finish(*std::move(directory), kFirstRemoveSeconds, counters, Counter::ended,
                          Counter::end_unfinished);
        }
        if (!done) say_unfinished(job, done.error().message);
        const Ended ended = done ? Ended::finished : Ended::unfinished;
        (void)sys::write_all(STDERR_FILENO, std::string(1, static_cast<char>(ended)));
        dup2(STDIN_FILENO, STDERR_FILENO);
        finish_all(counters);
    });
    pipe->write.reset();
    const Ended ended = pass_on(pipe->read.get(), seconds);
    if (ended == Ended::late)
        say_unfinished(job, "cleanup takes more than " + std::to_string(seconds) + " s");
    if (ended == Ended::killed)
        say_unfinished(job, "its process was killed, or could not be started");
    return ended == Ended::finished;
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

sys::Result<void> end_job(const JobDirectory& directory, int daemon_seconds, int seconds) {
    const Fields state = directory.state();
    const bool all_processes = end_namespace(directory, daemon_seconds);
    const auto uid = state.number("uid");
    const auto gid = state.number("gid");
    const std::string job_temp = state.get("job_temp");
    if (uid && gid && !job_temp.empty() && !remove_of(*uid, *gid, job_temp, seconds))
        return sys::Error{job_temp +
                          ": is not removed yet: this takes longer, or it contains files that its "
                          "user cannot remove"};
    if (!all_processes) return sys::Error{"its processes are not all ended or examined yet"};
    directory.clear();
    return {};
}

void finish_interrupted_ends(const Counters& counters) {
    const auto jobs = interrupted();
    name_unfinished(jobs);
    if (!jobs.empty()) detach(-1, [&] { finish_all(counters); });
}

int tear_down(const std::string& job, int seconds, const Counters& counters) {
    if (access(kJobsDirectory, W_OK) != 0 && errno != ENOENT) {
        std::fprintf(stderr, "batchai-helper: %s: %s: run it as root\n", kJobsDirectory,
                     std::strerror(errno));
        return kFailure;
    }
    unlink((std::string(kAskedDirectory) + "/" + job).c_str());  // the plugin does it in its epilog
    if (!exists(job))
        std::fprintf(stderr, "batchai-helper: %s/%s: there is no such job on this node\n",
                     kJobsDirectory, job.c_str());
    const bool is_marked = mark_ending(job);
    auto others = interrupted();
    // A job that is not set aside ends just now, in another process.
    std::erase_if(others, [&job](const std::string& other) {
        return other == job || !JobDirectory::is_aside(other);
    });
    name_unfinished(others);
    return end_within(job, is_marked, seconds, counters) ? kSucceeded : kFailure;
}

namespace {

// A namespace that is not pinned any more is from before a reboot.
void mark_jobs_from_before_a_reboot() {
    for (const auto& job : JobDirectory::all()) {
        const auto directory = JobDirectory::open(job, false);
        if (directory && directory->state().get("namespace") == "own" && !is_pinned(*directory))
            (void)directory->touch(kEndingFile);
    }
}

int fail(const sys::Error& error) {
    std::fprintf(stderr, "batchai " BATCHAI_VERSION ": %s\n",
                 sys::printable(error.message).c_str());
    return kFailure;
}

}  // namespace

int sweep(const std::string& policy_file, const Counters& counters) {
    if (auto made = prepare_base(); !made) return fail(made.error());
    mark_jobs_from_before_a_reboot();
    finish_interrupted_ends(counters);
    const auto text = read_trusted_policy(policy_file);
    if (!text) return fail(text.error());
    if (const auto policy = parse_trusted_policy(*text, policy_file); !policy)
        return fail(policy.error());
    std::printf("batchai " BATCHAI_VERSION ": site policy %s, SHA-256 %s\n", policy_file.c_str(),
                sys::sha256(*text).c_str());
    return 0;
}

}  // namespace batchai::spank
