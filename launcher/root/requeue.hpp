// SPDX-License-Identifier: Apache-2.0
//
// Requeue: requeues a batch job in Slurm after an end for a reason that the user has named, so that
// it runs again from its checkpoint. It never requeues a job that its user has cancelled.
#pragma once

#include <string>
#include <vector>

#include "launcher/common/allocation.hpp"
#include "launcher/root/report.hpp"

namespace batchai::launcher {

struct RequeuePolicy {
    std::vector<std::string> on;  // of kRequeueWords; empty: never
    int most = 3;
};
inline const std::vector<std::string> kRequeueWords = {"signal", "node-fail", "failure"};

// Before the job begins: whether Slurm could do it. Warns of output that the job's
// script would then empty.
sys::Result<void> check_requeue(const RequeuePolicy& policy, const Allocation& allocation);

// Whether the policy names such an end.
bool is_named(const RequeuePolicy& policy, Cause cause);

// After the job has ended: true if Slurm has taken it back, and will end what is left of it,
// whether asked by us or by another. Says what it does, and why not.
bool requeue(const RequeuePolicy& policy, const Allocation& allocation, Cause cause);

}  // namespace batchai::launcher
