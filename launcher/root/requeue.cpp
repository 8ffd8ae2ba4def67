// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/requeue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "launcher/common/continued_file.hpp"
#include "launcher/common/say.hpp"
#include "slurm/own_job.hpp"

namespace batchai::launcher {

sys::Result<void> check_requeue(const RequeuePolicy& policy, const Allocation& allocation) {
    if (policy.on.empty()) return {};
    if (allocation.local) return sys::Error{"--requeue-on: --local has no queue"};
    const auto job = slurm::query_own_job(allocation.job.whole(), allocation.restarts);
    if (!job) return sys::Error{"--requeue-on: " + job.error().message};
    if (!job->batch)
        return sys::Error{"--requeue-on: this is not a batch job: submit it with sbatch"};
    if (!job->requeue) {
        return sys::Error{
            "--requeue-on: Slurm may not run this job again: submit it with --requeue"};
    }
    warn_of_truncation();
    return {};
}

bool is_named(const RequeuePolicy& policy, Cause cause) {
    const char* word = cause == Cause::signal ? "signal"
                       : cause == Cause::node ? "node-fail"
                       : cause == Cause::rank ? "failure"
                                              : "";
    return std::find(policy.on.begin(), policy.on.end(), word) != policy.on.end();
}

bool requeue(const RequeuePolicy& policy, const Allocation& allocation, Cause cause) {
    const bool named = is_named(policy, cause);
    const bool by_slurm = cause == Cause::signal || cause == Cause::node;  // possibly
    if (allocation.local || !(named || by_slurm)) return false;
    const auto job = slurm::query_own_job(allocation.job.whole(), allocation.restarts);
    if (job && job->requeued) return true;
    if (!named) return false;
    const int before = allocation.restarts;
    if (before >= policy.most) {
        say(fmt::format(
            "not requeued: Slurm has requeued the job {} times already (--max-requeues)", before));
        return false;
    }
    if (!job) {
        say("not requeued: " + job.error().message);
        return false;
    }
    if (job->end == slurm::OwnJob::End::cancelled) {
        say("not requeued: the job was cancelled");
        return false;
    }
    const job::Number number =
        job->number.is_component() ? job::Number::of_job(job->number.whole()) : job->number;
    say(fmt::format("requeueing job {}, {} of {} times", number.text(), before + 1, policy.most));
    std::fflush(stdout);
    if (auto done = slurm::requeue_job(number); !done) {
        say("not requeued: " + done.error().message);
        return false;
    }
    return true;
}

}  // namespace batchai::launcher
