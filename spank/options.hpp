// SPDX-License-Identifier: Apache-2.0
//
// The user's options, the admin's arguments in plugstack.conf, and the variables that carry the
// options from the login node to the nodes.
#pragma once

#include "spank/protocol.hpp"
#include "spank/slurm_api.hpp"

namespace batchai::spank {

// The user's options of a job. An option that is not given is null.
struct Options {
    const char* value[kOptionCount] = {};

    bool any() const;
    bool same(const Options& other) const;
};

// plugstack.conf: required spank_batchai.so policy=/path libexec=/path counters=/path
struct Site {
    const char* policy;
    const char* libexec;
    const char* counters;  // a directory; empty: nothing is counted
};
Site site(int argc, char** argv);

// The helper's option before site.counters. Without counters it is null, which ends the arguments:
// during an upgrade an older helper may not know the option.
const char* counters_option(const Site&);

// Logs the arguments that the plugin does not know.
void name_unknown_words(int argc, char** argv);

// Makes the options known to srun, sbatch, salloc and slurmstepd. Call from `init`.
void register_options(slurm::Handle);

// The options on this process's command line (or in Slurm's message to this step).
Options given_options();

// The options that a job has carried from its submission in its environment.
Options carried_options(char* const* environment);

// On a node: the carried options, else those given to this step.
Options node_options(char* const* environment);

// The value of a variable of an environment; null where it has none.
const char* find_variable(char* const* environment, const char* name);

// The tasks on each node, "2(x3),1"; empty if the user has not asked for a number of them. (Slurm
// sets SLURM_TASKS_PER_NODE in any case.)
const char* tasks_asked(char* const* environment);

}  // namespace batchai::spank
