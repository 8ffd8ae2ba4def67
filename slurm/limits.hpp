// SPDX-License-Identifier: Apache-2.0
//
// The user's jobs that have not ended, and the smallest limits of the user's associations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sys/result.hpp"

namespace batchai::slurm {

struct OwnUsage {
    std::int64_t nodes = 0;  // of running jobs
    std::int64_t running = 0;
    std::int64_t submitted = 0;  // running and pending
};
// A limit that is not set is empty. Limits need slurmdbd.
struct OwnLimits {
    std::optional<std::int64_t> nodes;
    std::optional<std::int64_t> running;
    std::optional<std::int64_t> submitted;
};
OwnUsage parse_own_usage(const std::string& squeue);      // "%t %D"
OwnLimits parse_own_limits(const std::string& sacctmgr);  // "GrpTRES|MaxJobs|MaxSubmitJobs"
sys::Result<OwnUsage> own_usage();
sys::Result<OwnLimits> own_limits();

}  // namespace batchai::slurm
