// SPDX-License-Identifier: Apache-2.0
#include "spank/local.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/process.hpp"

namespace batchai::spank {
namespace {

// srun inside a job: true when the job has its set-up already. Asking for another one is an error.
bool job_is_set_up(const Options& given, bool& refused) {
    if (!getenv("SLURM_JOB_ID") || !carried_options(environ).any()) return false;
    // What the job was submitted with comes back as options; only the command line differs.
    constexpr const char* kInherited[kOptionCount] = {
        "SLURM_SPANK__SLURM_SPANK_OPTION_batchai_batchai_job",
        "SLURM_SPANK__SLURM_SPANK_OPTION_batchai_batchai_mount",
        "SLURM_SPANK__SLURM_SPANK_OPTION_batchai_batchai_prep",
        "SLURM_SPANK__SLURM_SPANK_OPTION_batchai_batchai_output"};
    for (int i = 0; i < kOptionCount; ++i) {
        const char* inherited = getenv(kInherited[i]);
        if (!given.value[i] || (inherited && strcmp(inherited, given.value[i]) == 0)) continue;
        char line[160];
        snprintf(line, sizeof line,
                 "batchai: --batchai-%s: the job is set up already: give the option to sbatch or "
                 "salloc",
                 kOptionNames[i]);
        slurm::say(line);
        refused = true;
    }
    return true;
}

// An option whose value is empty: often a variable that is not set. A line for each.
bool has_empty(const Options& given) {
    bool found = false;
    for (int i = 0; i < kOptionCount; ++i) {
        if (!given.value[i] || *given.value[i]) continue;
        char line[80];
        snprintf(line, sizeof line, "batchai: --batchai-%s: is empty: give it a value",
                 kOptionNames[i]);
        slurm::say(line);
        found = true;
    }
    return found;
}

bool too_long(const Options& given) {
    size_t length = 0;
    for (const char* text : given.value) length += text ? strlen(text) : 0;
    if (length <= kOptionsMaximum) return false;
    slurm::say("batchai: the --batchai-* options are longer than 64 KiB: put them into a job file");
    return true;
}

// Runs batchai-check, which prints what is to travel in each option's place. False: it said why
// not.
bool check(const Site& site, const Options& given, const MemoryFile& answer) {
    char path[4096];
    snprintf(path, sizeof path, "%s/batchai-check", site.libexec);
    // A command cannot be checked, and every user of the machine can see arguments.
    constexpr const char* kFlags[kOptionCount] = {"--job", "--mount", nullptr, "--output"};
    const char* argv[4 + 2 * kOptionCount] = {"batchai-check", "--policy", site.policy};
    int argc = 3;
    for (int i = 0; i < kOptionCount; ++i) {
        if (!given.value[i] || !kFlags[i]) continue;
        argv[argc++] = kFlags[i];
        argv[argc++] = given.value[i];
    }
    Program program = {path, argv, environ};
    program.out = answer.fd();
    program.err = STDERR_FILENO;
    program.seconds = kCheckSeconds;
    const int status = run(program);
    if (status == 0) return true;
    char line[4200];
    if (status == kTimedOut)
        snprintf(line, sizeof line, "batchai: checking the options took longer than %d seconds",
                 kCheckSeconds);
    else if (status == kNotStarted || status == 127)
        snprintf(line, sizeof line,
                 "batchai: %s: cannot be run; libexec= in plugstack.conf names "
                 "its directory",
                 path);
    else if (status >= 128)
        snprintf(line, sizeof line, "batchai: batchai-check was ended by signal %d", status - 128);
    else
        return false;
    slurm::say(line);
    return false;
}

}  // namespace

bool check_submission(slurm::Handle spank, const Site& site, bool allocator) {
    // A new job from inside another one is not that job.
    if (allocator)
        for (const char* name : kOptionVariables) unsetenv(name);
    const Options given = given_options();
    if (!given.any()) return true;
    bool refused = false;
    if (!allocator && job_is_set_up(given, refused)) return !refused;
    if (has_empty(given) || too_long(given)) return false;

    MemoryFile answer;
    if (!check(site, given, answer)) return false;
    // Two lines: the snapshot and the output directory, either may be empty.
    char* text = answer.text();
    char* second = text ? strchr(text, '\n') : nullptr;
    char* end = second ? strchr(second + 1, '\n') : nullptr;
    if (!end) {
        slurm::say("batchai: batchai-check gave no answer: is it of another version?");
        free(text);
        return false;
    }
    *second++ = *end = '\0';
    const char* values[kOptionCount] = {*text ? text : nullptr, given.value[kMount],
                                        given.value[kPrep], *second ? second : nullptr};
    bool good = true;
    for (int i = 0; i < kOptionCount; ++i) {
        if (!values[i]) continue;
        const char* name = kOptionVariables[i];
        // srun's tasks have srun's environment; a batch script's may be without (--export=NONE).
        good = (allocator ? slurm::set_job_variable(spank, name + strlen("SLURM_SPANK_"), values[i])
                          : setenv(name, values[i], 1) == 0) &&
               good;
    }
    free(text);
    return good;
}

}  // namespace batchai::spank
