// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "spank/failure.hpp"
#include "spank/node_preparation.hpp"
#include "spank/plugin.hpp"
#include "spank/process.hpp"
#include "spank/state.hpp"

namespace batchai::spank {
namespace {

// enter_job passes this to prepare_job, which Slurm calls next in the same process. It is
// constructed in place, so that nothing is constructed or destroyed when Slurm loads and unloads
// the plugin.
struct Entered {
    State state;
    Once preparation;
    Line failure;
};
alignas(Entered) char entered_place[sizeof(Entered)];
Entered* entered;

// True when Slurm itself has put this task into a mount namespace (job_container/tmpfs).
bool in_slurms_namespace() {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", getppid());
    struct stat daemon = {}, self = {};
    return stat(path, &daemon) == 0 && stat("/proc/self/ns/mnt", &self) == 0 &&
           daemon.st_ino != self.st_ino;
}

// Enters the namespace that the state names. False: it is not there any more.
bool join(const State& state, int directory) {
    const char* where = state.field("namespace");
    if (strcmp(where, "own") != 0) {  // Slurm's, named by its inode: we must be in it
        struct stat self = {};
        return stat("/proc/self/ns/mnt", &self) == 0 && strtoull(where, nullptr, 10) == self.st_ino;
    }
    Descriptor pin(openat(directory, kPinFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    return pin && setns(pin.get(), CLONE_NEWNS) == 0;
}

int count_gpus(char* const* environment) {
    const char* list = find_variable(environment, "SLURM_STEP_GPUS");
    if (!list) list = find_variable(environment, "SLURM_JOB_GPUS");
    if (!list) list = find_variable(environment, "GPU_DEVICE_ORDINAL");
    if (!list || !*list) return 0;
    int count = 1;
    for (; *list; ++list) count += *list == ',';
    return count;
}

void add_number(MemoryFile& request, const char* name, unsigned long value) {
    char text[24];
    snprintf(text, sizeof text, "%lu", value);
    request.add_field(name, text);
}

void write_request(MemoryFile& request, const slurm::Task& task, const Options& options) {
    request.add_field("name", JobName(task.cluster, task.job).text);
    add_number(request, "id", task.job);
    add_number(request, "uid", task.uid);
    add_number(request, "gid", task.gid);
    add_number(request, "restart", task.restart);
    add_number(request, "step", static_cast<unsigned long>(getppid()));
    add_number(request, "gpus", static_cast<unsigned long>(count_gpus(task.environment)));
    add_number(request, "in_place", in_slurms_namespace());
    request.add("groups=", 7);
    for (int i = 0; i < task.group_count; ++i) {
        char text[24];
        request.add(text, static_cast<size_t>(snprintf(text, sizeof text, "%u,", task.groups[i])));
    }
    request.add("", 1);
    request.add_field("node", task.node);
    const char* list = find_variable(task.environment, "SLURM_JOB_NODELIST");
    char* hosts = list ? slurm::expand_hosts(list) : nullptr;
    request.add_field("hosts", hosts ? hosts : task.node);
    free(hosts);
    request.add_field("tasks", tasks_asked(task.environment));
    const char* submitted = find_variable(task.environment, "SLURM_SUBMIT_DIR");
    // "srun --jobid" from another shell is not a submission: use that shell's directory.
    if (!submitted) submitted = find_variable(task.environment, "PWD");
    request.add_field("submit_dir", submitted ? submitted : "");
    if (task.in_array) {
        add_number(request, "array", task.array);
        add_number(request, "array_task", task.array_task);
    } else if (!task.batch_script) {
        const char* array_task = find_variable(task.environment, kArrayTaskVariable);
        request.add_field("array_task", array_task ? array_task : "");
    }
    for (int i = 0; i < kOptionCount; ++i)
        if (options.value[i]) request.add_field(kOptions[i].name, options.value[i]);
    request.rewind();
}

bool set_up(const slurm::Task& task, const Site& site, const Options& options, Line& failure) {
    char path[4096];
    snprintf(path, sizeof path, "%s/batchai-helper", site.libexec);
    const char* argv[] = {"batchai-helper",      "setup",       "--policy", site.policy,
                          counters_option(site), site.counters, nullptr};
    char search[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    char configuration[4096] = "";  // slurmstepd's own, so that the helper asks this cluster
    if (const char* file = getenv("SLURM_CONF"))
        snprintf(configuration, sizeof configuration, "SLURM_CONF=%s", file);
    char squeue[4200];
    snprintf(squeue, sizeof squeue, "BATCHAI_SQUEUE=%s", SlurmCommand("squeue").path);
    char* const environment[] = {search, squeue, *configuration ? configuration : nullptr, nullptr};
    MemoryFile request;
    write_request(request, task, options);
    MemoryFile output;
    Program program = {path, argv, environment};
    program.in = request.fd();
    program.err = output.fd();
    program.seconds = kSetupSeconds;
    return !has_failed(task, "batchai-helper", run(program), output, kSetupSeconds, failure);
}

bool is_known(const slurm::Task& task, const Descriptor& directory) {
    State& state = entered->state;
    return directory && state.read(directory.get(), task.uid, task.restart) &&
           has_witness(directory.get()) &&
           (state.failed() || (state.ready() && join(state, directory.get())));
}

void log_mounts(const slurm::Task& task, const State& state) {
    const char* text = state.field("mounts");
    int count =
        strncmp(text, "/tmp of ", 8) == 0 ? -1 : 0;  // no mount of ours (helper/root/setup.cpp)
    for (; *text; ++text) count += *text == '\n';
    char number[16];
    snprintf(number, sizeof number, "%d", count);
    log_event(task, "this node is set up, mounts: ", number);
}

// Reads the state and enters the job's namespace, or sets the failure. False: the job has no
// options, and the state belongs to another submission with the same number.
bool enter(const slurm::Task& task, const Site& site, const Options& options,
           Descriptor& directory) {
    if (is_known(task, directory)) return true;
    State& state = entered->state;
    Line& failure = entered->failure;
    if (!set_up(task, site, options, failure)) return true;
    directory.reset(open_job_directory(JobName(task.cluster, task.job)));
    if (!directory || !state.read(directory.get(), task.uid, task.restart)) {
        set(failure, "batchai: %s: batchai-helper left no state", task.node);
        return options.any();
    }
    if (state.ready()) log_mounts(task, state);
    if (state.ready() && !join(state, directory.get()))
        set(failure, "batchai: %s: the job's mount namespace cannot be entered", task.node);
    return true;
}

// Sets the failure for other errors of a job whose state is read.
void check(const slurm::Task& task, const Options& options, const Descriptor& directory) {
    const State& state = entered->state;
    Line& failure = entered->failure;
    if (!state.ready())
        set(failure, "%s", state.field("message"));
    else if (options.any() && !options.same(state.options()))
        set(failure,
            "batchai: %s: the job is set up already, with other --batchai-* options: leave them "
            "out",
            task.node);
    else if (!entered->preparation.open(directory.get()))
        set(failure, "batchai: %s: %s/%s/%s: %s", task.node, kJobsDirectory,
            JobName(task.cluster, task.job).text, kPreparationFile, strerror(errno));
}

}  // namespace

void enter_job(slurm::Handle spank, const Site& site) {
    const slurm::Task task = slurm::task(spank);
    const Options options = node_options(task.environment);
    Descriptor directory(open_job_directory(JobName(task.cluster, task.job)));
    const bool noted = !options.any() && asked(task);
    if (!directory && !options.any() && !noted) return;
    const DyingWithParent guard;
    entered = new (entered_place) Entered();
    const bool set_up = (directory || options.any()) && enter(task, site, options, directory);
    if (!set_up && noted)
        set(entered->failure,
            "batchai: %s: job %u has --batchai-* options that this shell does not know, and this "
            "node is not prepared. First start a step from the job's own shell or script. After "
            "salloc --no-shell, give the job's options to that step",
            task.node, task.job);
    else if (!set_up)
        entered = nullptr;
    else if (entered->failure.text[0] == '\0')
        check(task, options, directory);
}

void prepare_job(slurm::Handle spank, const Site& site) {
    if (!entered) return;
    const DyingWithParent guard;
    if (entered->failure.text[0] != '\0') fail(slurm::task(spank), entered->failure.text);
    const State& state = entered->state;
    state.for_each_variable([&](const char* entry) {
        const char* equals = strchr(entry, '=');
        char name[256];
        if (!equals || equals - entry >= static_cast<long>(sizeof name)) return;
        memcpy(name, entry, static_cast<size_t>(equals - entry));
        name[equals - entry] = '\0';
        slurm::set_environment(spank, name, equals + 1);
    });
    const slurm::Task task = slurm::task(spank);  // with the variables just set
    // batchai-prep enforces the policy's time limit. This one is for a batchai-prep that hangs.
    const int seconds = atoi(state.field("timeout")) + 30;
    const bool all_nodes = strcmp(state.field("prepare"), "all-nodes") == 0;
    if (task.batch_script && all_nodes && atoi(state.field("nodes")) > 1)
        prepare_all_nodes(task, site, state, seconds + kSetupSeconds);
    prepare_node(task, site, state, entered->preparation, seconds);
    char number[16];
    snprintf(number, sizeof number, "%u", task.job);
    slurm::set_environment(spank, "BATCHAI_NODE_READY", number);
}

}  // namespace batchai::spank
