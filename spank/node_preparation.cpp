// SPDX-License-Identifier: Apache-2.0
#include "spank/node_preparation.hpp"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/failure.hpp"
#include "spank/prep_arguments.hpp"
#include "spank/process.hpp"

namespace batchai::spank {
namespace {

bool starts_with(const char* text, const char* start) {
    return strncmp(text, start, strlen(start)) == 0;
}

// srun gets only these of Slurm's variables. It would take others, such as SLURM_NTASKS_PER_GPU, as
// options of the step, and some contradict ours.
bool for_all_nodes_step(const char* entry) {
    if (starts_with(entry, "SLURM_CONF=") || starts_with(entry, "SLURM_JOB_ID=") ||
        starts_with(entry, "SLURM_SUBMIT_DIR="))
        return true;
    if (starts_with(entry, "SLURM_SPANK_BATCHAI_"))
        return !starts_with(entry, kArrayTaskVariable) && !starts_with(entry, kTasksVariable);
    return !starts_with(entry, "SLURM") && !starts_with(entry, "SRUN_") &&
           !starts_with(entry, "SBATCH_") && !starts_with(entry, "SALLOC_");
}

constexpr const char* kSpreadGpus[] = {"SLURM_GPUS", "SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET",
                                       "SLURM_NTASKS_PER_GPU", "SLURM_TRES_PER_TASK"};

// Whether the job has GPUs that it has not asked for per node. Only Slurm sets the first variable:
// a job that was submitted inside another one inherits the others.
bool spreads_gpus(char* const* environment) {
    if (!find_variable(environment, "SLURM_GPUS_ON_NODE")) return false;
    for (const char* name : kSpreadGpus)
        if (find_variable(environment, name)) return true;
    return false;
}

// The job is the first component of a heterogeneous one. A job that was submitted inside another
// one inherits its variables, with other numbers.
bool is_first_component(const slurm::Task& task) {
    const char* component = find_variable(task.environment, "SLURM_JOB_ID_HET_GROUP_0");
    char job[32];
    snprintf(job, sizeof job, "%u", task.job);
    return component && strcmp(component, job) == 0;
}

// The environment of the step that prepares all nodes.
class StepEnvironment {
  public:
    explicit StepEnvironment(const slurm::Task& task) {
        size_t count = 0;
        while (task.environment[count]) ++count;
        entries_ = static_cast<char**>(calloc(count + 3, sizeof(char*)));
        if (!entries_ ||
            asprintf(&tasks_, "%s=%s", kTasksVariable, tasks_asked(task.environment)) < 0) {
            Line line;
            set(line, "batchai: %s: out of memory", task.node);
            fail(task, line.text);
        }
        size_t kept = 0;
        for (size_t i = 0; i < count; ++i)
            if (for_all_nodes_step(task.environment[i])) entries_[kept++] = task.environment[i];
        snprintf(array_task_, sizeof array_task_, "%s=%u", kArrayTaskVariable, task.array_task);
        if (task.in_array) entries_[kept++] = array_task_;
        entries_[kept++] = tasks_;
    }
    ~StepEnvironment() {
        free(entries_);
        free(tasks_);
    }
    StepEnvironment(const StepEnvironment&) = delete;
    StepEnvironment& operator=(const StepEnvironment&) = delete;

    char* const* entries() const { return entries_; }

  private:
    char** entries_;
    char* tasks_ = nullptr;
    char array_task_[64];
};

// The step's command on a prepared node. A node without the plugin runs it too, and has no mount
// root (launcher/common/readiness.hpp). It sleeps so that srun has the line before it learns of the
// failure (failure.cpp, let_pass).
constexpr char kIsReady[] =
    "while read -r mount; do case $mount in *\" - tmpfs batchai-$SLURM_JOB_ID-\"*) exit 0; esac; "
    "done </proc/self/mountinfo; echo \"batchai: $SLURMD_NODENAME: the plugin is not active here: "
    "the node's plugstack.conf lacks its line\" >&2; /bin/sleep 1; exit 1";

// Runs batchai-prep, or has it log a failure that it could not log itself. batchai-prep reads note
// and command from input: the note may quote the command, and every user can see arguments. The
// user's processes inherit no file of ours.
int run_prep(const slurm::Task& task, const Site& site, const State& state, const MemoryFile& input,
             const MemoryFile& output, const char* failure, int seconds) {
    char path[4096];
    snprintf(path, sizeof path, "%s/batchai-prep", site.libexec);
    const char* argv[32] = {"batchai-prep"};
    int argc = 1;
    PrepArguments<const char*> arguments;
    arguments.output = state.field("logs");
    arguments.outside = state.field("logs_outside");
    arguments.log_node = state.field("log_node");
    arguments.node = state.field("node");
    arguments.record = state.field("record");
    arguments.directory = state.field("directory");
    arguments.expect = state.field("script");
    arguments.seconds = state.field("timeout");
    arguments.cache_days = state.field("cache");
    arguments.mounts = state.field("mounts");
    arguments.failed = failure;
    arguments.for_each([&](const char* option, const char* value, const char*) {
        if (!value || !*value) return;  // null: one of batchai-launch's
        argv[argc++] = option;
        argv[argc++] = value;
    });
    Program program = {path, argv, task.environment};
    program.in = input.fd();
    program.err = output.fd();
    program.seconds = seconds;
    return run(program);
}

// Logs a failure that batchai-prep had no chance to log.
void log_failure(const slurm::Task& task, const Site& site, const State& state, const Line& line) {
    const MemoryFile nothing, output;
    run_prep(task, site, state, nothing, output, line.text, kLogSeconds);
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
    Line line;
    if (has_failed(task, "flock", run(program), output, seconds, line)) fail(task, line.text);
}

// The state of the preparation cannot be written, as on a full /run.
[[noreturn]] void fail_unnoted(const slurm::Task& task) {
    Line line;
    set(line, "batchai: %s: %s/%s/%s: %s", task.node, kJobsDirectory,
        JobName(task.cluster, task.job).text, kPreparationFile, strerror(errno));
    fail(task, line.text);
}

}  // namespace

void prepare_all_nodes(const slurm::Task& task, const Site& site, const State& state, int seconds) {
    const StepEnvironment environment(task);
    const char* nodes = state.field("nodes");
    const char* words[] = {"--job-name=batchai-prepare",
                           "--overlap",
                           "--nodes",
                           nodes,
                           "--ntasks",
                           nodes,
                           "--ntasks-per-node=1",
                           "--mem=0",
                           "--mpi=none",
                           "--kill-on-bad-exit=1",
                           "--quiet",
                           "--input=none",
                           "/bin/sh",
                           "-c",
                           kIsReady,
                           nullptr};
    const char* argv[24] = {"srun"};
    int argc = 1;
    // A step of one task per node that takes over the job's request for GPUs gets too few of them,
    // or is refused. With this option it gets all that the job has (slurm/own_job.cpp).
    if (spreads_gpus(task.environment)) argv[argc++] = "--gpus-per-socket=1";
    if (is_first_component(task)) argv[argc++] = "--het-group=0";
    for (const char* word : words) argv[argc++] = word;
    const MemoryFile output;
    const SlurmCommand srun("srun");
    Program program = {srun.path, argv, environment.entries()};
    program.err = output.fd();
    program.seconds = seconds;
    program.limits = task.environment;  // srun's limits are those of its tasks
    Line line;
    const int status = run(program);
    if (!has_failed(task, "srun", status, output, seconds, line)) return;
    if (status == kNotStarted && access(srun.path, X_OK) != 0)
        set(line,
            "batchai: %s: cannot run %s, and slurmd's prefix has no bin/srun: install Slurm's "
            "client commands on this node",
            task.node, srun.path);
    else if (status == kNotStarted || status == 127)
        set(line, "batchai: %s: cannot run %s: run it on this node to see why", task.node,
            srun.path);
    if (!line.logged) log_failure(task, site, state, line);
    fail(task, line.text);
}

void prepare_node(const slurm::Task& task, const Site& site, const State& state, const Once& once,
                  int seconds) {
    if (!*state.field("command") && !*state.field("script") && !*state.field("note")) return;
    Line line;
    if (once.read(line.text, sizeof line.text) == Once::Result::succeeded) return;
    if (!once.try_lock()) wait_for_lock(task, once, seconds);
    switch (once.read(line.text, sizeof line.text)) {
        case Once::Result::succeeded:
            return;
        case Once::Result::failed:
            fail(task, line.text);
        case Once::Result::started:
            set(line, "batchai: %s: job preparation was interrupted", task.node);
            log_failure(task, site, state, line);
            once.note_failure(line.text);
            fail(task, line.text);
        case Once::Result::none:
            break;
    }
    if (!once.note_start()) fail_unnoted(task);
    MemoryFile input;
    const char* note = state.field("note");
    const char* command = state.field("command");
    input.add(note, strlen(note) + 1);
    input.add(command, strlen(command));
    input.rewind();
    const MemoryFile output;
    const int status = run_prep(task, site, state, input, output, "", seconds);
    if (!has_failed(task, "batchai-prep", status, output, seconds, line)) {
        if (!once.note_success()) fail_unnoted(task);  // the next step would run it again
        log_event(task, "job preparation succeeded");
        return;
    }
    if (!line.logged) log_failure(task, site, state, line);
    once.note_failure(line.text);
    fail(task, line.text);
}

}  // namespace batchai::spank
