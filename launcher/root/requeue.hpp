// SPDX-License-Identifier: Apache-2.0
//
// Requeue: requeues a batch job in Slurm after an end for a reason that the user has named, so that
// it continues from its checkpoint. A job that its user has cancelled is not requeued.
#pragma once

#include <string>
#include <vector>

#include "launcher/common/allocation.hpp"
#include "launcher/root/outcome.hpp"

namespace batchai::launcher {

struct RequeuePolicy {
    std::vector<std::string> on;  // words of kRequeueWords; empty: never
    int most = 3;
};
inline const std::vector<std::string> kRequeueWords = {"signal", "node-fail", "failure"};

// Checks before the job starts whether Slurm can requeue it. Warns about output that the job's
// script would then overwrite.
sys::Result<void> check_requeue(const RequeuePolicy& policy, const Allocation& allocation);

// Whether the policy names this cause.
bool is_named(const RequeuePolicy& policy, Cause cause);

// Call it after the job's end. True: Slurm has requeued the job, at our request or another one, and
// will end what is left of it. It prints what it does, or why it does not.
bool requeue(const RequeuePolicy& policy, const Allocation& allocation, Cause cause);

}  // namespace batchai::launcher
