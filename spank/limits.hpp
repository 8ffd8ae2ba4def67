// SPDX-License-Identifier: Apache-2.0
//
// The resource limits of a job's submission (PropagateResourceLimits). Slurm puts them into a
// task's environment, such as SLURM_RLIMIT_NOFILE=1024, and applies them as soft limits after
// task_init. Programs that the plugin starts before that get them here. A limit without a variable
// is not passed on.
//
// The plugin and batchai-prep share this header, so it needs no C++ library.
#pragma once

#include <sys/resource.h>

namespace batchai::spank {

struct Limit {
    const char* name = nullptr;  // "NOFILE"
    int resource = 0;
    rlim_t soft = 0;
};

inline constexpr int kLimitCount = 10;

// Fills in the limits of an environment. Returns their number.
int submitted_limits(char* const* environment, Limit (&limits)[kLimitCount]);

// Sets this process's soft limit. False: the limit is unchanged, usually because it is above the
// hard limit.
bool apply(const Limit& limit);

}  // namespace batchai::spank
