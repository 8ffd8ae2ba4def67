// SPDX-License-Identifier: Apache-2.0
#include "spank/slurm_api.hpp"

#include <stdlib.h>
#include <string.h>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/spank.h>

// Slurm's own configuration, which each of its programs exports to plugins.
extern slurm_conf_t slurm_conf __attribute__((weak));

// The options of sbatch and salloc, and Slurm's functions that read and set one by its name, which
// cli_filter plugins use. The programs export them too. SPANK has no function for it.
struct slurm_options;
extern slurm_options opt __attribute__((weak));
bool slurm_option_isset(slurm_options*, const char* name) __attribute__((weak));
int slurm_option_set(slurm_options*, const char* name, const char* value, bool early)
    __attribute__((weak));
}

namespace batchai::spank::slurm {

Context context() {
    switch (spank_context()) {
        case S_CTX_LOCAL:
            return Context::srun;
        case S_CTX_ALLOCATOR:
            return Context::allocator;
        case S_CTX_REMOTE:
            return Context::task;
        case S_CTX_SLURMD:
            return Context::slurmd;
        case S_CTX_JOB_SCRIPT:
            return Context::job_script;
        default:
            return Context::other;
    }
}

void register_option(Handle spank, spank_option* option) {
    spank_option_register(spank, option);
}

Task task(Handle spank) {
    Task task;
    uint32_t step = 0;
    int local = 0;
    gid_t* groups = nullptr;
    spank_get_item(spank, S_JOB_ID, &task.job);
    spank_get_item(spank, S_JOB_UID, &task.uid);
    spank_get_item(spank, S_JOB_GID, &task.gid);
    spank_get_item(spank, S_SLURM_RESTART_COUNT, &task.restart);
    spank_get_item(spank, S_JOB_STEPID, &step);
    spank_get_item(spank, S_TASK_ID, &local);
    spank_get_item(spank, S_JOB_ARRAY_ID, &task.array);
    spank_get_item(spank, S_JOB_ARRAY_TASK_ID, &task.array_task);
    spank_get_item(spank, S_JOB_SUPPLEMENTARY_GIDS, &groups, &task.group_count);
    spank_get_item(spank, S_JOB_ENV, &task.environment);
    // From slurmstepd's environment: the job's environment may have the name of the node where srun
    // runs.
    if (const char* node = getenv("SLURMD_NODENAME")) task.node = node;
    task.cluster = cluster();
    task.groups = groups;
    task.batch_script = step == SLURM_BATCH_SCRIPT;
    task.first_on_node = local == 0;
    task.in_array = task.batch_script && task.array != 0;
    return task;
}

const char* cluster() {
    return &slurm_conf && slurm_conf.cluster_name ? slurm_conf.cluster_name : "slurm";
}

namespace {

int seconds_of(uint16_t limit) {
    return limit == NO_VAL16 || limit == INFINITE16 ? 0 : limit;
}

// Newer releases have a limit for each.
template <class Configuration>
int least_limit(const Configuration& conf) {
    if constexpr (requires { conf.epilog_timeout; }) {
        const int prolog = seconds_of(conf.prolog_timeout),
                  epilog = seconds_of(conf.epilog_timeout);
        return prolog != 0 && (epilog == 0 || prolog < epilog) ? prolog : epilog;
    } else {
        return seconds_of(conf.prolog_epilog_timeout);
    }
}

}  // namespace

int epilog_limit() {
    return &slurm_conf ? least_limit(slurm_conf) : 0;
}

uint32_t job_number(Handle spank) {
    uint32_t job = 0;
    return spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS ? job : 0;
}

uid_t job_user(Handle spank) {
    uid_t user = static_cast<uid_t>(-1);
    spank_get_item(spank, S_JOB_UID, &user);
    return user;
}

bool set_environment(Handle spank, const char* name, const char* value) {
    return spank_setenv(spank, name, value, 1) == ESPANK_SUCCESS;
}

bool set_job_variable(Handle spank, const char* name, const char* value) {
    return spank_job_control_setenv(spank, name, value, 1) == ESPANK_SUCCESS;
}

void set_comment(const char* text) {
    if (!&opt || !&slurm_option_isset || !&slurm_option_set) return;
    if (!slurm_option_isset(&opt, "comment")) slurm_option_set(&opt, "comment", text, false);
}

char* expand_hosts(const char* list) {
    // The list comes from the user's environment. A forged one must not use up the memory.
    constexpr int kMaximum = 1 << 16;
    auto* hosts = slurm_hostlist_create(list);  // in 22.05 hostlist_t is the pointer itself
    if (hosts && slurm_hostlist_count(hosts) > kMaximum) {
        slurm_hostlist_destroy(hosts);
        hosts = nullptr;
    }
    if (!hosts) return nullptr;
    char* text = nullptr;
    size_t length = 0;
    while (char* host = slurm_hostlist_shift(hosts)) {
        size_t more = strlen(host);
        char* longer = static_cast<char*>(realloc(text, length + more + 2));
        if (longer) {
            text = longer;
            if (length > 0) text[length++] = ',';
            memcpy(text + length, host, more + 1);
            length += more;
        }
        free(host);
    }
    slurm_hostlist_destroy(hosts);
    return text;
}

void say(const char* line) {
    slurm_spank_log("%s", line);
}

void log_info(const char* line) {
    slurm_info("%s", line);
}

}  // namespace batchai::spank::slurm
