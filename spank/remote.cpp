// SPDX-License-Identifier: Apache-2.0
#include "spank/remote.hpp"

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "spank/process.hpp"
#include "spank/state.hpp"

namespace batchai::spank {
namespace {

// What enter_job leaves for prepare_job, which Slurm calls next in the same process. Allocated, so
// that nothing is constructed or destroyed when Slurm loads and unloads the plugin.
struct Entered {
    State state;
    Descriptor preparation;
};
Entered* entered;

[[noreturn]] void fail(const slurm::Task& task, const char* line) {
    if (task.first_on_node) slurm::say(line);
    _exit(1);
}

[[noreturn]] __attribute__((format(printf, 2, 3))) void failf(const slurm::Task& task,
                                                              const char* format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);  // NOLINT: clang 14 does not see va_start
    va_end(arguments);
    fail(task, line);
}

// Fails the task when one of our programs did not succeed: with its own line where it has one.
// output: what it wrote; the line is the first that starts with "batchai: ", else the last.
void expect_success(const slurm::Task& task, const char* name, int status, const MemoryFile& output,
                    int seconds) {
    if (status == 0) return;
    if (status == kNotStarted || status == 127)
        failf(task, "batchai: %s: %s cannot be run: is batchai installed on this node?", task.node,
              name);
    if (status == kTimedOut)
        failf(task, "batchai: %s: %s did not end within %d seconds", task.node, name, seconds);
    char* text = output.text();
    const char* found = nullptr;
    for (char* line = text ? strtok(text, "\n") : nullptr; line; line = strtok(nullptr, "\n")) {
        found = line;
        if (strncmp(line, "batchai: ", 9) == 0) break;
    }
    if (found) fail(task, found);
    failf(task, "batchai: %s: %s was ended by signal %d", task.node, name, status - 128);
}

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
    if (strcmp(where, "own") != 0) {  // Slurm's, by its inode: we must be in it
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
    add_number(request, "id", task.job);
    add_number(request, "uid", task.uid);
    add_number(request, "gid", task.gid);
    add_number(request, "restart", task.restart);
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
    const char* submitted = find_variable(task.environment, "SLURM_SUBMIT_DIR");
    request.add_field("submit_dir", submitted ? submitted : "");
    for (int i = 0; i < kOptionCount; ++i)
        if (options.value[i]) request.add_field(kOptionNames[i], options.value[i]);
    request.rewind();
}

void set_up(const slurm::Task& task, const Site& site, const Options& options) {
    char path[4096];
    snprintf(path, sizeof path, "%s/batchai-helper", site.libexec);
    const char* argv[] = {"batchai-helper", "setup", "--policy", site.policy, nullptr};
    char search[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    char* const environment[] = {search, nullptr};
    MemoryFile request;
    write_request(request, task, options);
    MemoryFile output;
    Program program = {path, argv, environment};
    program.in = request.fd();
    program.err = output.fd();
    program.seconds = kSetupSeconds;
    expect_success(task, "batchai-helper", run(program), output, kSetupSeconds);
}

bool starts_with(const char* text, const char* start) {
    return strncmp(text, start, strlen(start)) == 0;
}

// Of Slurm's variables srun gets only these: others (SLURM_NTASKS_PER_GPU, …) would be taken for
// options of the step, and some contradict ours.
bool for_all_nodes_step(const char* entry) {
    if (starts_with(entry, "SLURM_CONF=") || starts_with(entry, "SLURM_JOB_ID=") ||
        starts_with(entry, "SLURM_SUBMIT_DIR=") || starts_with(entry, "SLURM_SPANK_BATCHAI_"))
        return true;
    return !starts_with(entry, "SLURM") && !starts_with(entry, "SRUN_") &&
           !starts_with(entry, "SBATCH_") && !starts_with(entry, "SALLOC_");
}

// From the batch script's task: one step over all nodes. The plugin enters and prepares each of
// them; the step itself does nothing.
void prepare_all_nodes(const slurm::Task& task, const char* nodes, int seconds) {
    size_t count = 0;
    while (task.environment[count]) ++count;
    const char** environment = static_cast<const char**>(calloc(count + 1, sizeof(char*)));
    if (!environment) failf(task, "batchai: %s: out of memory", task.node);
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i)
        if (for_all_nodes_step(task.environment[i])) environment[kept++] = task.environment[i];

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

// What batchai-prep has noted, where it ran before: protocol in prep/once.hpp.
bool is_prepared(int fd) {
    char text[8] = {};
    return pread(fd, text, sizeof text, 0) >= 3 && strncmp(text, "ok\n", 3) == 0;
}

void prepare_node(const slurm::Task& task, const Site& site, const State& state, int fd,
                  int seconds) {
    const char* command = state.field("command");
    const char* script = state.field("script");
    const bool idle = !*command && !*script && !*state.field("note");
    if (idle || is_prepared(fd)) return;
    char path[4096];
    snprintf(path, sizeof path, "%s/batchai-prep", site.libexec);
    const char* argv[24] = {"batchai-prep", "--once", "3"};
    int argc = 3;
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
    MemoryFile input;
    input.add(command, strlen(command));
    input.rewind();
    MemoryFile output;
    Program program = {path, argv, task.environment};
    program.in = input.fd();
    program.err = output.fd();
    program.extra = fd;
    program.seconds = seconds;
    expect_success(task, "batchai-prep", run(program), output, seconds);
}

}  // namespace

void enter_job(slurm::Handle spank, const Site& site) {
    const slurm::Task task = slurm::task(spank);
    const Options options = node_options(task.environment);
    Descriptor directory(open_job_directory(task.job));
    if (!directory && !options.any()) return;

    void* place = malloc(sizeof(Entered));
    if (!place) failf(task, "batchai: %s: out of memory", task.node);
    entered = new (place) Entered();
    State& state = entered->state;
    const bool known = directory && state.read(directory.get(), task.restart);
    if (!known || !(state.failed() || (state.ready() && join(state, directory.get())))) {
        if (!options.any())  // attached from outside
            failf(task, "batchai: %s: the job is being set up: try again", task.node);
        set_up(task, site, options);
        directory.reset(open_job_directory(task.job));
        if (!directory || !state.read(directory.get(), task.restart))
            failf(task, "batchai: %s: batchai-helper left no state", task.node);
        if (state.ready() && !join(state, directory.get()))
            failf(task, "batchai: %s: the job's mount namespace cannot be entered", task.node);
    }
    if (!state.ready()) fail(task, state.field("message"));
    if (options.any() && !options.same(state.options()))
        failf(task,
              "batchai: %s: the job is set up already, with other --batchai-* options: leave "
              "them out",
              task.node);
    entered->preparation.reset(
        openat(directory.get(), kPreparationFile, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
}

void prepare_job(slurm::Handle spank, const Site& site) {
    if (!entered || !entered->state.ready()) return;
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
    // batchai-prep keeps the policy's time itself; ours is for a batchai-prep that does not.
    const int seconds = atoi(state.field("timeout")) + 30;
    const char* nodes = state.field("nodes");
    if (task.batch_script && atoi(nodes) > 1)
        prepare_all_nodes(task, nodes, seconds + kSetupSeconds);
    prepare_node(task, site, state, entered->preparation.get(), seconds);
    char number[16];
    snprintf(number, sizeof number, "%u", task.job);
    slurm::set_environment(spank, "BATCHAI_NODE_READY", number);
}

}  // namespace batchai::spank
