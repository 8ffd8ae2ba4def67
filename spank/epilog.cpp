// SPDX-License-Identifier: Apache-2.0

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/plugin.hpp"
#include "spank/process.hpp"
#include "spank/state.hpp"

namespace batchai::spank {
namespace {

// How long the helper waits for the end of a job. Three times as much must be less than what Slurm
// gives the epilog: the helper is killed after twice as much, and Slurm's own work takes time too.
int end_seconds() {
    const int limit = slurm::epilog_limit();
    return limit != 0 && limit / 3 < kEndSeconds ? limit / 3 : kEndSeconds;
}

// Runs the helper and writes each line of its output to slurmd's log. Returns its exit status.
int run_helper(const Site& site, const char* const* argv) {
    char path[4096];
    snprintf(path, sizeof path, "%s/batchai-helper", site.libexec);
    char search[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    char* const environment[] = {search, nullptr};
    MemoryFile output;
    Program program = {path, argv, environment};
    program.out = output.fd();
    program.err = output.fd();
    program.seconds = end_seconds() > 0 ? 2 * end_seconds() : 1;
    const int status = run(program);
    if (status == kTimedOut)
        slurm::say(
            "batchai: batchai-helper did not end in time. The next job on this node continues the "
            "cleanup");
    if (status == kNotStarted || status == 127)
        slurm::say(
            "batchai: cannot run batchai-helper. Install batchai on this node, or correct libexec= "
            "in plugstack.conf");
    char* const text = output.text();
    char* rest = text;
    while (char* const line = rest ? strsep(&rest, "\n") : nullptr)
        if (line[0] != '\0') slurm::say(line);
    free(text);
    return status;
}

// True if a job's end was begun and not finished.
bool has_unfinished_end() {
    DIR* const jobs = opendir(kJobsDirectory);
    if (!jobs) return false;
    bool found = false;
    while (const dirent* job = found ? nullptr : readdir(jobs)) {
        char mark[300];
        snprintf(mark, sizeof mark, "%s/%s", job->d_name, kEndingFile);
        found = faccessat(dirfd(jobs), mark, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    }
    closedir(jobs);
    return found;
}

}  // namespace

void end_job(slurm::Handle spank, const Site& site) {
    const uint32_t job = slurm::job_number(spank);
    forget_options(job);
    const JobName name(slurm::cluster(), job);
    const Descriptor directory(job == 0 ? -1 : open_job_directory(name));
    if (!directory) return;
    const Descriptor marked(
        openat(directory.get(), kEndingFile, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    char seconds[16];
    snprintf(seconds, sizeof seconds, "%d", end_seconds());
    const char* argv[] = {
        "batchai-helper",      "teardown",    "--job", name.text, "--seconds", seconds,
        counters_option(site), site.counters, nullptr};
    const bool finished = run_helper(site, argv) == 0;
    char line[128];
    snprintf(line, sizeof line, "batchai: job %u, user %u: %s", job, slurm::job_user(spank),
             finished ? "ended on this node" : "cleanup on this node is not finished");
    slurm::log_info(line);
}

void continue_ends(const Site& site) {
    if (!has_unfinished_end()) return;
    const char* argv[] = {"batchai-helper", "finish", counters_option(site), site.counters,
                          nullptr};
    run_helper(site, argv);
}

void sweep(const Site& site) {
    const char* argv[] = {"batchai-helper",      "sweep",       "--policy", site.policy,
                          counters_option(site), site.counters, nullptr};
    run_helper(site, argv);
}

}  // namespace batchai::spank
