// SPDX-License-Identifier: Apache-2.0
//
// The messages between the plugin and its helpers. Both sides share this header, so it holds
// constants only and includes no header that needs the C++ library.
//
// Every message is a list of strings. Each string ends with a zero byte, and is "name=value" unless
// stated otherwise.
//
// Request (plugin to `batchai-helper setup`, on standard input): name (of its directory), id, uid,
// gid, groups, restart, step (the process of the step's slurmstepd), node, hosts, gpus (of this
// node), tasks (of each node, "2(x3),1"; empty: the user asked for no number), submit_dir,
// in_place, array and array_task (may be empty), and the user's options under the names of
// kOptions.
//
// State (kStateFile in the job's directory, for root only): what later tasks of the job need. uid,
// restart and submitted (slurmctld's time), or made (the node's time, if slurmctld was not asked),
// identify the submission (helper/root/submission.hpp). result is running, ready or failed; message
// is the line of a failure. gid and job_temp are for the job's end. The options are in it again, so
// that the plugin notices a step that gives others. If result is ready, it also has namespace,
// nodes, prepare, script, timeout, cache (days), mounts (as a text), logs, logs_outside (the same
// without the job's mounts), record, log_node, note and command. An empty string follows, then the
// task's environment.
#pragma once

namespace batchai::spank {

// Each job has a directory CLUSTER-NUMBER, 0700, inside a private self-bind of kBaseDirectory. That
// one is 0711, because mounts of jobs may be below it. The end of a job adds ".N" to the name
// before it begins, and a set-up to the name of another submission's leftover. So a new job with
// the number, such as a requeued one, finds the name free.
inline constexpr char kBaseDirectory[] = "/run/batchai";
inline constexpr char kLockFile[] = "/run/batchai/lock";  // while the self-bind is made
inline constexpr char kEndsFile[] = "/run/batchai/ends";  // while interrupted ends are finished
inline constexpr char kCountersFile[] = "/run/batchai/counters";  // see helper/root/counters.hpp
inline constexpr char kJobsDirectory[] = "/run/batchai/jobs";
inline constexpr char kAskedDirectory[] = "/run/batchai/asked";  // the plugin's, see asked.cpp

// Files of a job's directory.
inline constexpr char kStateFile[] = "state";
inline constexpr char kWitnessFile[] = "witness";          // see helper/root/submission.hpp
inline constexpr char kPinFile[] = "namespace";            // the mount namespace is bound here
inline constexpr char kPreparationFile[] = "preparation";  // see state.hpp
inline constexpr char kDaemonsFile[] = "daemons";          // see helper/root/daemon_notes.hpp
// Marks a directory whose job is over. The plugin makes it at the job's end, or the helper for a
// leftover, with or without the directory's lock. It is removed last: if an end is interrupted, the
// next end of a job or start of slurmd continues it.
inline constexpr char kEndingFile[] = "ending";

// The user's options: --batchai-job and so on.
enum Option { kJob, kMount, kPrep, kOutput, kOptionCount };
struct OptionRow {
    const char* name;      // in requests and states
    const char* option;    // to Slurm and the user, without "--"
    const char* flag;      // of batchai-check
    const char* variable;  // carries the value to the nodes
    const char* slurms;    // in which Slurm keeps the value for programs inside the job
    const char* argument;  // of the user's help, like usage
    const char* usage;
};
// Slurm puts SLURM_SPANK_ before the names of variables that sbatch passes on.
#define BATCHAI_OPTION(name, capitals, argument, usage)                                           \
    {                                                                                             \
        name, "batchai-" name, "--" name, "SLURM_SPANK_BATCHAI_" capitals,                        \
            "SLURM_SPANK__SLURM_SPANK_OPTION_batchai_batchai_" name, argument, "[batchai] " usage \
    }
inline constexpr OptionRow kOptions[kOptionCount] = {
    BATCHAI_OPTION("job", "JOB", "FILE",
                   "run with the mounts, preparation and environment of a Batch AI job.json"),
    BATCHAI_OPTION(
        "mount", "MOUNT", "SOURCE:TARGET[:OPTIONS][,...]",
        "mount SOURCE (/directory, tmpfs, overlay=/directory, squashfs=IMAGE, "
        "volume=NAME[/DIRECTORY] or PROGRAM=PATH) at TARGET below $AZ_BATCHAI_JOB_MOUNT_ROOT; "
        "OPTIONS: ro, rw, noexec, size=N joined by '+'"),
    BATCHAI_OPTION("prep", "PREP", "COMMAND",
                   "run COMMAND once on every node before the job's script"),
    BATCHAI_OPTION("output", "OUTPUT", "DIR", "directory of the preparation's log files"),
};
#undef BATCHAI_OPTION

// In the step of a job array's task that prepares its nodes: the task's number.
inline constexpr char kArrayTaskVariable[] = "SLURM_SPANK_BATCHAI_ARRAY_TASK";

// In the step that prepares a job's nodes: tasks_asked() of the batch script.
inline constexpr char kTasksVariable[] = "SLURM_SPANK_BATCHAI_TASKS";

// All options of a job together. Slurm drains nodes when a job's environment variable has 128 KiB.
inline constexpr unsigned kOptionsMaximum = 64 * 1024;
inline constexpr unsigned kStateMaximum = 1024 * 1024;

// The longest line of a failure; a longer one is cut.
inline constexpr unsigned kLineMaximum = 4096;
// Part of the line of a preparation that was cancelled.
inline constexpr char kCancelled[] = "job preparation was cancelled";

// Deadlines in seconds. The policy has that of the job preparation. That of the set-up is larger
// than the sum of the helper's own: 30 each to plan, open sources and make files, 120 to mount, 150
// for slurmctld's answer, 40 for leftovers of an earlier run, 50 for a failure.
inline constexpr int kCheckSeconds = 60;
inline constexpr int kSetupSeconds = 480;
inline constexpr int kLogSeconds = 10;  // a line to the logs
// How long the end of a job waits until it leaves the rest to the background. It covers the time
// that a FUSE program gets to write its data (helper/root/end.cpp). Less if Slurm gives an epilog
// less than three times as much (epilog.cpp).
inline constexpr int kEndSeconds = 30;

}  // namespace batchai::spank
