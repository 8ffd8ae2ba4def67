// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/restart.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "launcher/common/continued_file.hpp"
#include "launcher/common/say.hpp"
#include "launcher/root/coordinator.hpp"
#include "slurm/own_job.hpp"

namespace batchai::launcher {
namespace {

bool may_mend(const SessionResult& result, const Session& session) {
    if (result.cause != Cause::rank && result.cause != Cause::node) return false;
    if (session.owned_directory.empty()) return true;
    // If the agent of the first node is lost, its guard removes the job's own directories.
    const auto& lost = result.lost_nodes;
    std::error_code error;
    return std::find(lost.begin(), lost.end(), session.allocation.nodes.front()) == lost.end() &&
           std::filesystem::exists(session.owned_directory, error);
}

}  // namespace

Allocation without_nodes(const Allocation& allocation, const std::vector<std::string>& lost,
                         const Restarts& restarts) {
    Allocation left = allocation;
    std::erase_if(left.nodes, [&lost](const std::string& node) {
        return std::find(lost.begin(), lost.end(), node) != lost.end();
    });
    const auto count = static_cast<int>(left.nodes.size());
    if (lost.empty() || !restarts.min_nodes || count < *restarts.min_nodes) return allocation;
    left.reduced = true;
    return left;
}

SessionResult run_with_restarts(Session session, const Restarts& restarts) {
    session.max_restarts = restarts.most;
    while (true) {
        const SessionResult result = Coordinator::run(session);
        if (session.attempt == restarts.most || !may_mend(result, session)) return result;
        session.carried = result.carried;
        if (const auto left = session.carried.timeout_left; left && *left <= 0) return result;
        session.allocation = without_nodes(session.allocation, result.lost_nodes, restarts);
        ++session.attempt;
        const auto nodes = session.allocation.nodes.size();
        say(fmt::format("restart {} of {}, on {} node{}: {}", session.attempt, restarts.most, nodes,
                        nodes == 1 ? "" : "s", fmt::join(session.allocation.nodes, " ")));
    }
}

// ---- requeue ------------------------------------------------------------------------------------

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
