// SPDX-License-Identifier: Apache-2.0
//
// The only interface between the plugin and Slurm. slurm_api.cpp implements it with Slurm's
// library; the unit tests have their own implementation.
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct spank_handle;
struct spank_option;

namespace batchai::spank::slurm {

using Handle = spank_handle*;

enum class Context { other, srun, allocator, task, slurmd, job_script };
Context context();

void register_option(Handle, spank_option*);

struct Task {
    uint32_t job = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    uint32_t restart = 0;
    const char* cluster = "";  // Slurm's name of the cluster
    const char* node = "";     // Slurm's name of this node
    bool batch_script = false;
    bool first_on_node = false;
    // Known only in the batch script's task. For a step, Slurm takes the value from the
    // environment, where another job may have left one.
    bool in_array = false;
    uint32_t array = 0;  // the array's number
    uint32_t array_task = 0;
    const gid_t* groups = nullptr;
    int group_count = 0;
    char** environment = nullptr;  // valid until set_environment
};
Task task(Handle);

// The name of the cluster whose Slurm has loaded the plugin, from its configuration.
const char* cluster();

// The seconds after which Slurm kills a prolog or an epilog and drains the node
// (PrologEpilogTimeout), the smaller of the two if they differ. 0: never.
int epilog_limit();

// The job's number, in prolog and epilog and in srun's local_user_init. 0: unknown.
uint32_t job_number(Handle);

// The job's user, in prolog and epilog.
uid_t job_user(Handle);

bool set_environment(Handle, const char* name, const char* value);

// SLURM_SPANK_<name> in every step of the job that is being submitted.
bool set_job_variable(Handle, const char* name, const char* value);

// Gives the job that sbatch or salloc is about to submit a comment, unless its user has given one.
void set_comment(const char* text);

// "n[1-2]" becomes "n1,n2". The caller frees the result. Null: not a list, or more than 65536
// hosts.
char* expand_hosts(const char* list);

// One line to the user (on a node: the task's stderr) and to the log.
void say(const char* line);

// One line to the log alone, at Slurm's level "info".
void log_info(const char* line);

}  // namespace batchai::spank::slurm
