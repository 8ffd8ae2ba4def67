// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmix/job_names.hpp"

#include <algorithm>

namespace batchai::launcher::pmix {

void JobNames::add(const std::string& nspace, int first, int size) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({nspace, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(size)});
}

void JobNames::remove_last() {
    const std::lock_guard lock(mutex_);
    jobs_.pop_back();
}

const JobNames::Entry* JobNames::find(const char* nspace) const {
    const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                    [nspace](const Entry& job) { return job.nspace == nspace; });
    return found == jobs_.end() ? nullptr : &*found;
}

std::optional<std::uint32_t> JobNames::number(const pmix_proc_t& proc) const {
    const std::lock_guard lock(mutex_);
    const Entry* job = find(proc.nspace);
    if (job == nullptr || proc.rank >= job->size) return std::nullopt;
    return job->first + proc.rank;
}

std::optional<RankSet> JobNames::numbers(const pmix_proc_t procs[], std::size_t count) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint32_t> ranks;
    for (std::size_t i = 0; i < count; ++i) {
        const Entry* job = find(procs[i].nspace);
        const bool all = procs[i].rank == PMIX_RANK_WILDCARD;
        if (job == nullptr || (!all && procs[i].rank >= job->size)) return std::nullopt;
        if (all && count == 1) return RankSet::range(job->first, job->first + job->size - 1);
        const std::uint32_t first = all ? 0 : procs[i].rank, last = all ? job->size - 1 : first;
        for (std::uint32_t rank = first; rank <= last; ++rank) ranks.push_back(job->first + rank);
    }
    return RankSet(std::move(ranks));
}

pmix_proc_t JobNames::proc(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, "", PMIX_RANK_INVALID);
    for (const Entry& job : jobs_) {
        if (number - job.first < job.size)
            PMIX_LOAD_PROCID(&proc, job.nspace.c_str(), number - job.first);
    }
    return proc;
}

std::string JobNames::names() const {
    const std::lock_guard lock(mutex_);
    std::string names;
    for (const Entry& job : jobs_) names += (names.empty() ? "" : ",") + job.nspace;
    return names;
}

}  // namespace batchai::launcher::pmix
