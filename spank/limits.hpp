// SPDX-License-Identifier: Apache-2.0
//
// The resource limits that come with a job from its submission (PropagateResourceLimits): Slurm
// puts them into a task's environment, SLURM_RLIMIT_NOFILE=1024, and applies them, soft limits
// only, after task_init. What the plugin starts for the job before that gets them here. A limit
// that has no variable is not handed over.
//
// Shared by the plugin and batchai-prep: no C++ library.
#pragma once

#include <sys/resource.h>

namespace batchai::spank {

struct Limit {
    const char* name = nullptr;  // "NOFILE"
    int resource = 0;
    rlim_t soft = 0;
};

inline constexpr int kLimitCount = 10;

// Fills in those of an environment; returns how many there are.
int submitted_limits(char* const* environment, Limit (&limits)[kLimitCount]);

// Sets this process's soft limit. False: it stays as it is, above the hard limit as a rule.
bool apply(const Limit& limit);

}  // namespace batchai::spank
