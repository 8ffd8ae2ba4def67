// SPDX-License-Identifier: Apache-2.0
//
// A SPANK plugin that shows what Slurm does with a plugin: it logs every callback with its context,
// user, mount namespace and cgroup, and misbehaves where it is told to.
//
// Arguments in plugstack.conf:
//   log=FILE     one line per callback
//   rules=FILE   lines "CALLBACK ACT [VALUE]", done in their order; a missing file has no rules:
//                  task_init return -1      the callback returns VALUE
//                  task_init exit 1         the process ends
//                  task_init sleep 3        seconds
//                  task_init rename NAME    of the process, as Slurm's process tracking sees it
//                  task_init pin FILE       keep a new mount namespace alive by mounting it on FILE
//
// Both files are opened where the callback runs: nodes with a /run of their own have rules of their
// own. Nothing here is shared with the real plugin; it deliberately does what that one must never
// do.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(spank_probe, 1)

static int accept_value(int value, const char* argument, int remote) {
    (void)value, (void)argument, (void)remote;
    return ESPANK_SUCCESS;
}

static struct spank_option value_option = {
    PROBE_OPTION, "TEXT", "any text; for the test of long option values", 1, 0, accept_value};

static const char* argument(int ac, char** av, const char* key) {
    const size_t length = strlen(key);
    for (int i = 0; i < ac; i++) {
        if (strncmp(av[i], key, length) == 0 && av[i][length] == '=') {
            return av[i] + length + 1;
        }
    }
    return NULL;
}

static const char* context_name(void) {
    switch (spank_context()) {
        case S_CTX_LOCAL:
            return "local";
        case S_CTX_REMOTE:
            return "remote";
        case S_CTX_ALLOCATOR:
            return "allocator";
        case S_CTX_SLURMD:
            return "slurmd";
        case S_CTX_JOB_SCRIPT:
            return "job_script";
        default:
            return "unknown";
    }
}

// The cgroup that tracks processes: the freezer's under v1, the only one under v2.
static void read_cgroup(char* text, size_t size) {
    snprintf(text, size, "none");
    FILE* file = fopen("/proc/self/cgroup", "re");
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
        if (strstr(line, ":freezer:") || strncmp(line, "0::", 3) == 0) {
            line[strcspn(line, "\n")] = 0;
            snprintf(text, size, "%s", strrchr(line, ':') + 1);
        }
    }
    if (file) fclose(file);
}

static void log_callback(const char* file_name, const char* callback) {
    // Opened by root first, written by the job's user too.
    const int fd = open(file_name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return;
    if (geteuid() == 0) (void)!fchmod(fd, 0666);
    char name[16] = "", cgroup[512];
    struct stat mounts = {0};
    prctl(PR_GET_NAME, name);
    stat("/proc/self/ns/mnt", &mounts);
    read_cgroup(cgroup, sizeof cgroup);
    dprintf(fd, "%s context=%s uid=%d euid=%d comm=%s mnt=%lu cgroup=%s\n", callback,
            context_name(), (int)getuid(), (int)geteuid(), name, (unsigned long)mounts.st_ino,
            cgroup);
    close(fd);
}

// One attempt to pin a new mount namespace made on one CPU; returns 0 or errno.
static int pin_from(int cpu, const char* file_name) {
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) < 0) return errno;
    const pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const char failed = unshare(CLONE_NEWNS) < 0;
        (void)!write(ready[1], &failed, 1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    char failed = 1;
    char source[64];
    (void)!read(ready[0], &failed, 1);
    close(ready[0]);
    snprintf(source, sizeof source, "/proc/%d/ns/mnt", (int)child);
    const int result = failed                                              ? ECHILD
                       : mount(source, file_name, NULL, MS_BIND, NULL) < 0 ? errno
                                                                           : 0;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return result;
}

// Kernels hand out namespace numbers per CPU and refuse to pin a namespace that has a lower number
// than our own (EINVAL), so a CPU may be the wrong one: tries each. Says how many it took.
static void pin(const char* file_name) {
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const int fd = open(file_name, O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    int error = 0;
    for (long cpu = 0; cpu < cpus; cpu++) {
        error = pin_from((int)cpu, file_name);
        if (error == 0) {
            slurm_spank_log("spank_probe: pinned at try %ld", cpu + 1);
            umount2(file_name, MNT_DETACH);
            break;
        }
        slurm_spank_log("spank_probe: try %ld to pin: %s", cpu + 1, strerror(error));
    }
    unlink(file_name);
}

static int act(const char* callback, const char* verb, const char* value) {
    if (strcmp(verb, "sleep") == 0) {
        sleep((unsigned)atoi(value));
    } else if (strcmp(verb, "rename") == 0) {
        prctl(PR_SET_NAME, value);
    } else if (strcmp(verb, "pin") == 0) {
        pin(value);
    } else if (strcmp(verb, "exit") == 0) {
        slurm_spank_log("spank_probe: %s exits with %s", callback, value);
        _exit(atoi(value));
    } else if (strcmp(verb, "return") == 0) {
        slurm_spank_log("spank_probe: %s returns %s", callback, value);
        return atoi(value);
    }
    return ESPANK_SUCCESS;
}

static int on(const char* callback, int ac, char** av) {
    const char* log = argument(ac, av, "log");
    const char* rules = argument(ac, av, "rules");
    if (log) log_callback(log, callback);
    FILE* file = rules ? fopen(rules, "re") : NULL;
    char line[256], name[64], verb[16], value[160];
    int result = ESPANK_SUCCESS;
    while (file && result == ESPANK_SUCCESS && fgets(line, sizeof line, file)) {
        value[0] = 0;
        if (sscanf(line, "%63s %15s %159s", name, verb, value) >= 2 &&
            strcmp(name, callback) == 0) {
            result = act(callback, verb, value);
        }
    }
    if (file) fclose(file);
    return result;
}

#define CALLBACK(name)                                      \
    int slurm_spank_##name(spank_t sp, int ac, char** av) { \
        return (void)sp, on(#name, ac, av);                 \
    }

// Options are registered here and not in a table spank_options[], which sbatch does not look at.
int slurm_spank_init(spank_t sp, int ac, char** av) {
    spank_option_register(sp, &value_option);
    return on("init", ac, av);
}

CALLBACK(slurmd_init)
CALLBACK(job_prolog)
CALLBACK(init_post_opt)
CALLBACK(local_user_init)
CALLBACK(user_init)
CALLBACK(task_init_privileged)
CALLBACK(task_init)
CALLBACK(task_post_fork)
CALLBACK(task_exit)
CALLBACK(exit)
CALLBACK(job_epilog)
CALLBACK(slurmd_exit)
