// SPDX-License-Identifier: Apache-2.0
//
// What the plugin and its helpers say to each other. Shared by both sides, so: constants only, and
// no header that needs the C++ library.
//
// Everything is a list of strings, each ended by a zero byte, "name=value" where not said
// otherwise.
//
// Request (plugin to `batchai-helper setup`, on standard input): name (of its directory), id, uid,
// gid, groups, restart, step (the process of the step's slurmstepd), node, hosts, gpus, submit_dir,
// in_place, array_task (may be empty), and the user's options under the names of kOptionNames.
//
// State (kStateFile in the job's directory, root only): what later tasks of the job need. uid,
// restart and submitted (a time, of slurmctld's) say whose it is (helper/submission.hpp); result
// (running, ready or failed), message (of a failure); gid and job_temp for the job's end; the
// options again, so that a step that asks for others is noticed; when ready also
// namespace, nodes, prepare, script, timeout, cache (days), mounts (as a text), logs, logs_outside
// (the same without the job's mounts), record, log_node, note and command. Then an empty string and
// the task's environment.
#pragma once

namespace batchai::spank {

// One directory per job, CLUSTER-NUMBER, 0700, inside a private self-bind of kBaseDirectory, 0711:
// mounts of jobs may be below. A leftover whose number another submission has by now gets a name
// with ".N" behind it.
inline constexpr char kBaseDirectory[] = "/run/batchai";
inline constexpr char kLockFile[] = "/run/batchai/lock";  // while the self-bind is made
inline constexpr char kEndsFile[] = "/run/batchai/ends";  // while interrupted ends are finished
inline constexpr char kCountersFile[] = "/run/batchai/counters";  // see helper/counters.hpp
inline constexpr char kJobsDirectory[] = "/run/batchai/jobs";
inline constexpr char kAskedDirectory[] = "/run/batchai/asked";  // the plugin's, see asked.hpp

// Files of a job's directory.
inline constexpr char kStateFile[] = "state";
inline constexpr char kWitnessFile[] = "witness";          // see helper/submission.hpp
inline constexpr char kPinFile[] = "namespace";            // the mount namespace is bound here
inline constexpr char kPreparationFile[] = "preparation";  // see once.hpp
inline constexpr char kDaemonsFile[] = "daemons";          // see helper/daemon_notes.hpp
// Marks a directory whose job is over: made by the plugin at the job's end, or by the helper for a
// leftover, with or without the directory's lock. Removed last: if an end is interrupted, the next
// end of a job or start of slurmd goes on with it.
inline constexpr char kEndingFile[] = "ending";

// The user's options. kOptionNames are the names in requests and states.
enum Option { kJob, kMount, kPrep, kOutput, kOptionCount };
inline constexpr const char* kOptionNames[kOptionCount] = {"job", "mount", "prep", "output"};

// Where the options travel to the nodes: Slurm puts SLURM_SPANK_ before what sbatch hands over.
inline constexpr const char* kOptionVariables[kOptionCount] = {
    "SLURM_SPANK_BATCHAI_JOB", "SLURM_SPANK_BATCHAI_MOUNT", "SLURM_SPANK_BATCHAI_PREP",
    "SLURM_SPANK_BATCHAI_OUTPUT"};

// In the step of a job array's task that prepares its nodes: the task's number.
inline constexpr char kArrayTaskVariable[] = "SLURM_SPANK_BATCHAI_ARRAY_TASK";

// All options of a job together. Slurm drains nodes when a job's environment variable has 128 KiB.
inline constexpr unsigned kOptionsMaximum = 64 * 1024;
inline constexpr unsigned kStateMaximum = 1024 * 1024;

// A failure's line; what is longer is cut.
inline constexpr unsigned kLineMaximum = 4096;
// In the line of a preparation that was told to end.
inline constexpr char kCancelled[] = "job preparation was cancelled";

// Deadlines in seconds; job preparation has the policy's. That of the set-up is above all of the
// helper's own together: 30 each to plan, open sources and make files, 120 at most to mount, 150
// for slurmctld's answer, 40 for what an earlier run has left, 50 for a failure.
inline constexpr int kCheckSeconds = 60;
inline constexpr int kSetupSeconds = 480;
inline constexpr int kTeardownSeconds = 90;
inline constexpr int kLogSeconds = 10;  // a line to the logs

}  // namespace batchai::spank
