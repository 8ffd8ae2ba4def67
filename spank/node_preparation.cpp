// SPDX-License-Identifier: Apache-2.0
#include "spank/node_preparation.hpp"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spank/failure.hpp"

namespace batchai::spank {
namespace {

bool starts_with(const char* text, const char* start) {
    return strncmp(text, start, strlen(start)) == 0;
}

// Of Slurm's variables srun gets only these: others (SLURM_NTASKS_PER_GPU, …) would be taken for
// options of the step, and some contradict ours.
bool for_all_nodes_step(const char* entry) {
    if (starts_with(entry, "SLURM_CONF=") || starts_with(entry, "SLURM_JOB_ID=") ||
        starts_with(entry, "SLURM_SUBMIT_DIR="))
        return true;
    if (starts_with(entry, "SLURM_SPANK_BATCHAI_")) return !starts_with(entry, kArrayTaskVariable);
    return !starts_with(entry, "SLURM") && !starts_with(entry, "SRUN_") &&
           !starts_with(entry, "SBATCH_") && !starts_with(entry, "SALLOC_");
}

// Runs batchai-prep. Nothing of the user's that it starts holds a file of ours. True: it has
// failed.
bool run_preparation(const slurm::Task& task, const Site& site, const State& state, int seconds,
                     Line& why) {
    char path[4096];
    snprintf(path, sizeof path, "%s/batchai-prep", site.libexec);
    const char* argv[24] = {"batchai-prep"};
    int argc = 1;
    struct {
        const char* flag;
        const char* field;
    } constexpr kArguments[] = {{"--output", "logs"},    {"--node", "log_node"},
                                {"--name", "node"},      {"--record", "record"},
                                {"--note", "note"},      {"--expect", "script"},
                                {"--timeout", "timeout"}};
    for (const auto& [flag, field] : kArguments) {
        if (!*state.field(field)) continue;
        argv[argc++] = flag;
        argv[argc++] = state.field(field);
    }
    const char* command = state.field("command");
    MemoryFile input;
    input.add(command, strlen(command));
    input.rewind();
    MemoryFile output;
    Program program = {path, argv, task.environment};
    program.in = input.fd();
    program.err = output.fd();
    program.seconds = seconds;
    return has_failed(task, "batchai-prep", run(program), output, seconds, why);
}

// Waits in a program, which Slurm can end, for the task that prepares the node.
void wait_for_lock(const slurm::Task& task, const Once& once, int seconds) {
    const char* argv[] = {"flock", "3", nullptr};
    char* const environment[] = {nullptr};
    MemoryFile output;
    Program program = {BATCHAI_FLOCK, argv, environment};
    program.err = output.fd();
    program.extra = once.lock_file();
    program.seconds = seconds;
    expect_success(task, "flock", run(program), output, seconds);
}

}  // namespace

void prepare_all_nodes(const slurm::Task& task, const char* nodes, int seconds) {
    size_t count = 0;
    while (task.environment[count]) ++count;
    const char** environment = static_cast<const char**>(calloc(count + 2, sizeof(char*)));
    if (!environment) failf(task, "batchai: %s: out of memory", task.node);
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i)
        if (for_all_nodes_step(task.environment[i])) environment[kept++] = task.environment[i];
    char array_task[64];
    snprintf(array_task, sizeof array_task, "%s=%u", kArrayTaskVariable, task.array_task);
    if (task.in_array) environment[kept++] = array_task;

    const char* argv[] = {
        "srun",    "--overlap",           "--nodes",   nodes,        "--ntasks",
        nodes,     "--ntasks-per-node=1", "--mem=0",   "--mpi=none", "--kill-on-bad-exit=1",
        "--quiet", "--input=none",        "/bin/true", nullptr};
    MemoryFile output;
    Program program = {BATCHAI_SRUN, argv, const_cast<char* const*>(environment)};
    program.err = output.fd();
    program.seconds = seconds;
    const int status = run(program);
    free(environment);
    expect_success(task, "srun", status, output, seconds);
}

void prepare_node(const slurm::Task& task, const Site& site, const State& state, const Once& once,
                  int seconds) {
    if (!*state.field("command") && !*state.field("script") && !*state.field("note")) return;
    Line line;
    if (once.read(line.text, sizeof line.text) == Once::Result::succeeded) return;
    if (!once.try_lock()) wait_for_lock(task, once, seconds);
    const Once::Result earlier = once.read(line.text, sizeof line.text);
    if (earlier == Once::Result::succeeded) return;
    if (earlier == Once::Result::failed) fail(task, line.text);
    snprintf(line.text, sizeof line.text, "batchai: %s: job preparation was interrupted",
             task.node);
    if (!once.note_failure(line.text))
        failf(task, "batchai: %s: %s/%u/%s: %s", task.node, kJobsDirectory, task.job,
              kPreparationFile, strerror(errno));
    if (run_preparation(task, site, state, seconds, line)) {
        once.note_failure(line.text);
        fail(task, line.text);
    }
    once.note_success();
}

}  // namespace batchai::spank
