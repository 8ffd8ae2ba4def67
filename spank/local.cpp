// SPDX-License-Identifier: Apache-2.0
#include "spank/plugin.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/process.hpp"

namespace batchai::spank {
namespace {

// The job in whose environment srun was started; 0: none. Recorded here because srun changes
// SLURM_JOB_ID later.
uint32_t job_of_environment;

// Slurm gives each component of a heterogeneous job a number.
bool is_component(uint32_t job) {
    char name[48];
    for (int group = 0;; ++group) {
        snprintf(name, sizeof name, "SLURM_JOB_ID_HET_GROUP_%d", group);
        const char* text = getenv(name);
        if (!text) return false;
        if (strtoul(text, nullptr, 10) == job) return true;
    }
}

// True for a variable that belongs to a job. Variables of the first kind hold the job's options,
// the others name the files of a task.
bool is_of_job(const char* entry, bool of_task) {
    constexpr const char* kStarts[] = {"SLURM_SPANK_BATCHAI_", "AZ_BATCHAI_", "AZ_BATCH_HOST_LIST=",
                                       "BATCHAI_JOB_FILE=", "BATCHAI_NODE_READY="};
    for (const char* start : kStarts) {
        if (strncmp(entry, start, strlen(start)) == 0) return true;
        if (!of_task) return false;
    }
    return false;
}

enum class Leave { remove, empty };

// Removes the variables of the surrounding job from the environment, or makes them empty.
void leave_surrounding_job(Leave how) {
    // A value that no task has set is the user's own.
    const bool of_task = find_variable(environ, "BATCHAI_NODE_READY") != nullptr;
    for (size_t i = 0; environ[i];) {
        char name[256];
        const size_t length = strcspn(environ[i], "=");
        if (!is_of_job(environ[i], of_task) || length >= sizeof name) {
            ++i;
            continue;
        }
        memcpy(name, environ[i], length);
        name[length] = '\0';
        if (how == Leave::remove) {
            unsetenv(name);  // the next entry takes its place
            continue;
        }
        setenv(name, "", 1);
        ++i;
    }
}

// srun inside a job that is set up: an option on its command line would ask for another set-up.
bool has_option_for_set_up_job(const Options& given) {
    bool found = false;
    for (int i = 0; i < kOptionCount; ++i) {
        if (!given.value[i]) continue;
        char line[160];
        snprintf(line, sizeof line,
                 "batchai: --batchai-%s: the job is set up already: give the option to sbatch or "
                 "salloc",
                 kOptions[i].name);
        slurm::say(line);
        found = true;
    }
    return found;
}

// True if an option has an empty value, often from a variable that is not set. Prints a line for
// each.
bool has_empty(const Options& given) {
    bool found = false;
    for (int i = 0; i < kOptionCount; ++i) {
        if (!given.value[i] || *given.value[i]) continue;
        char line[80];
        snprintf(line, sizeof line, "batchai: --batchai-%s: is empty: give it a value",
                 kOptions[i].name);
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

// Runs batchai-check, which prints the values that go to the nodes. False: it has printed why not.
bool check(const Site& site, const Options& given, const MemoryFile& answer) {
    char path[4096];
    snprintf(path, sizeof path, "%s/batchai-check", site.libexec);
    const char* argv[4 + 2 * kOptionCount] = {"batchai-check", "--policy", site.policy};
    int argc = 3;
    for (int i = 0; i < kOptionCount; ++i) {
        // A command cannot be checked, and every user of the machine can see arguments.
        if (!given.value[i] || i == kPrep) continue;
        argv[argc++] = kOptions[i].flag;
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
                 "batchai: %s: cannot be run. Install batchai on this machine, or correct libexec= "
                 "in plugstack.conf",
                 path);
    else if (status >= 128)
        snprintf(line, sizeof line, "batchai: batchai-check was ended by signal %d", status - 128);
    else
        return false;
    slurm::say(line);
    return false;
}

}  // namespace

void forget_submission(bool allocator) {
    for (const OptionRow& option : kOptions) unsetenv(option.slurms);
    const char* job = allocator ? nullptr : getenv("SLURM_JOB_ID");
    job_of_environment = job ? static_cast<uint32_t>(strtoul(job, nullptr, 10)) : 0;
    if (job_of_environment == 0) leave_surrounding_job(Leave::remove);
}

void forget_other_job(slurm::Handle spank) {
    const uint32_t job = slurm::job_number(spank);
    // srun has already copied its environment: a changed variable reaches the tasks, a removed one
    // stays in the copy.
    if (job_of_environment != 0 && job != job_of_environment && !is_component(job))
        leave_surrounding_job(Leave::empty);
}

bool check_submission(slurm::Handle spank, const Site& site, bool allocator) {
    const Options given = given_options();
    if (!given.any()) return true;
    if (job_of_environment != 0 && carried_options(environ).any())
        return !has_option_for_set_up_job(given);
    if (has_empty(given) || too_long(given)) return false;

    MemoryFile answer;
    if (!check(site, given, answer)) return false;
    // Three lines: the snapshot, the output directory and the comment, each may be empty.
    char* text = answer.text();
    char* second = text ? strchr(text, '\n') : nullptr;
    char* third = second ? strchr(second + 1, '\n') : nullptr;
    char* end = third ? strchr(third + 1, '\n') : nullptr;
    if (!end) {
        slurm::say(
            "batchai: batchai-check returned no answer. Install all of batchai from one release");
        free(text);
        return false;
    }
    *second++ = *third++ = *end = '\0';
    if (allocator && *third) slurm::set_comment(third);
    const char* values[kOptionCount] = {*text ? text : nullptr, given.value[kMount],
                                        given.value[kPrep], *second ? second : nullptr};
    bool good = true;
    for (int i = 0; i < kOptionCount; ++i) {
        if (!values[i]) continue;
        const char* name = kOptions[i].variable;
        // srun's tasks have srun's environment; a batch script's may be without (--export=NONE).
        good = (allocator ? slurm::set_job_variable(spank, name + strlen("SLURM_SPANK_"), values[i])
                          : setenv(name, values[i], 1) == 0) &&
               good;
    }
    free(text);
    return good;
}

}  // namespace batchai::spank
