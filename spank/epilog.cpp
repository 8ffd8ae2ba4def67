// SPDX-License-Identifier: Apache-2.0
#include "spank/epilog.hpp"

#include <fcntl.h>
#include <stdio.h>

#include "spank/process.hpp"
#include "spank/state.hpp"

namespace batchai::spank {
namespace {

void run_helper(const Site& site, const char* const* argv) {
    char path[4096];
    snprintf(path, sizeof path, "%s/batchai-helper", site.libexec);
    char search[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    char* const environment[] = {search, nullptr};
    MemoryFile output;
    Program program = {path, argv, environment};
    program.err = output.fd();
    program.seconds = kTeardownSeconds;
    run(program);
}

}  // namespace

void end_job(slurm::Handle spank, const Site& site) {
    const uint32_t job = slurm::epilog_job(spank);
    const Descriptor directory(job == 0 ? -1 : open_job_directory(job));
    if (!directory) return;
    const Descriptor marked(
        openat(directory.get(), kEndingFile, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    char number[16];
    snprintf(number, sizeof number, "%u", job);
    const char* argv[] = {"batchai-helper", "teardown", "--job", number, nullptr};
    run_helper(site, argv);
}

void sweep(const Site& site) {
    const char* argv[] = {"batchai-helper", "sweep", nullptr};
    run_helper(site, argv);
}

}  // namespace batchai::spank
