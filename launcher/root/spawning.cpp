// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/spawning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <sstream>
#include <utility>

namespace batchai::launcher {
namespace {

// The free slots of these nodes ("n1,n2"; empty: of all).
sys::Result<std::vector<int>> only_on(const std::string& hosts, const std::vector<int>& free,
                                      const RankMap& launch) {
    if (hosts.empty()) return free;
    std::vector<int> usable(free.size(), 0);
    std::istringstream names(hosts);
    for (std::string name; std::getline(names, name, ',');) {
        const auto found = std::find(launch.nodes.begin(), launch.nodes.end(), name);
        if (found == launch.nodes.end())
            return sys::Error{fmt::format("on {}, which is no node of the launch", name)};
        const auto node = found - launch.nodes.begin();
        usable[node] = free[node];
    }
    return usable;
}

// Takes `count` slots; fewer if there are not so many.
std::vector<int> take(int count, std::vector<int> free, bool by_node) {
    std::vector<int> taken;
    const auto wants_more = [&] { return static_cast<int>(taken.size()) < count; };
    for (bool any = true; any && wants_more();) {
        any = false;
        for (int node = 0; node < static_cast<int>(free.size()); ++node) {
            while (free[node] > 0 && wants_more()) {
                --free[node];
                taken.push_back(node);
                any = true;
                if (by_node) break;
            }
        }
    }
    return taken;
}

}  // namespace

sys::Result<Job> place(const SpawnJob& order, const RankMap& launch, const std::vector<int>& slots,
                       const std::function<bool(int rank)>& ended) {
    std::vector<int> free = slots, nodes;
    for (int rank = 0; rank < launch.size(); ++rank) {
        if (!ended(rank)) --free[launch.node_of(rank)];
    }
    std::int64_t wanted = 0;
    for (const Program& program : order.programs) wanted += program.ranks;
    for (std::size_t i = 0; i < order.programs.size(); ++i) {
        const std::string& hosts = order.hosts[i];
        const auto usable = only_on(hosts, free, launch);
        if (!usable) return usable.error();
        const int count = order.programs[i].ranks;
        const std::vector<int> taken = take(count, *usable, order.by_node);
        for (const int node : taken) --free[node];
        nodes.insert(nodes.end(), taken.begin(), taken.end());
        if (static_cast<int>(taken.size()) == count) continue;
        return sys::Error{
            fmt::format("for {} ranks, and {} of {} slots are free{}. Ask Slurm for more tasks "
                        "(--ntasks), or start fewer ranks with -n",
                        wanted, nodes.size(), std::accumulate(slots.begin(), slots.end(), 0),
                        hosts.empty() ? "" : " on " + hosts)};
    }
    Job job = job_on(nodes, launch, order.programs);
    job.parent = order.parent;
    return job;
}

void Spawning::on_order(int node, SpawnJob order) {
    waiting_.push_back({node, std::move(order)});
    if (!under_way_) next();
}

void Spawning::next() {
    while (!under_way_ && !waiting_.empty()) {
        const Order order = std::move(waiting_.front());
        waiting_.pop_front();
        auto job = place(order.job, jobs_.map(), slots_,
                         [this](int rank) { return outcome_.has_ended(rank); });
        if (stopped_ || !job) {
            reply(order, SpawnReply::Status::no_slots,
                  stopped_ ? "while the launch ends" : job.error().message);
            continue;
        }
        job->nspace = next_name(jobs_.list());
        jobs_.add(*job);
        under_way_ = order;
        failure_.clear();
        for (int n = 0; n < nodes_.size(); ++n)
            if (!nodes_[n].lost) unanswered_.insert(n);
        nodes_.send_all(NewJob{*std::move(job)});
    }
}

void Spawning::on_ready(int node, const JobReady& ready) {
    if (!under_way_ || unanswered_.erase(node) == 0) return;
    if (failure_.empty()) failure_ = ready.failure;
    if (unanswered_.empty()) conclude();
}

void Spawning::on_lost(int node) {
    slots_[node] = 0;
    if (!under_way_) return;
    failure_ = fmt::format("the agent on {} is gone", nodes_[node].name);
    unanswered_.erase(node);
    if (unanswered_.empty()) conclude();
}

void Spawning::conclude() {
    const Order order = *std::exchange(under_way_, std::nullopt);
    const bool start = failure_.empty() && !stopped_;
    nodes_.send_all(JobStart{start});
    if (start) {
        outcome_.set_programs(jobs_.programs());
        for (int node = 0; node < nodes_.size(); ++node) nodes_[node].done = nodes_[node].lost;
        if (order.job.tell_end) tell_end_.insert(jobs_.list().back().first);
        reply(order, SpawnReply::Status::started, {});
    } else {
        jobs_.remove_last();
        reply(order, SpawnReply::Status::no_program, "that cannot be started: " + failure_);
    }
    next();
}

void Spawning::on_rank_end(int rank) {
    const Job& job = jobs_.of(rank);
    if (!tell_end_.contains(job.first)) return;
    for (int i = 0; i < job.map.size(); ++i)
        if (!outcome_.has_ended(job.first + i)) return;
    nodes_.send(jobs_.map().node_of(job.parent), JobEnded{job.first});
}

void Spawning::reply(const Order& order, SpawnReply::Status status, const std::string& why) const {
    const bool started = status == SpawnReply::Status::started;
    nodes_.send(order.node,
                SpawnReply{order.job.id, status, started ? jobs_.list().back().nspace : "", why});
}

}  // namespace batchai::launcher
