// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

namespace batchai::launcher {
namespace {

// The number that Open MPI 4.1 gives a job: Bob Jenkins's one-at-a-time hash, without one bit.
std::uint32_t openmpi_number(const std::string& name) {
    std::uint32_t hash = 0;
    for (const char letter : name) {
        hash += static_cast<std::uint32_t>(letter);
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    hash += hash << 15;
    return hash & ~0x8000U;
}

}  // namespace

void Jobs::add(Job job) {
    if (list_.empty()) {
        map_ = job.map;
    } else {
        std::vector<int> nodes;
        for (int rank = 0; rank < job.map.size(); ++rank) {
            const std::string& name = job.map.nodes[job.map.node_of(rank)];
            nodes.push_back(static_cast<int>(std::find(map_.nodes.begin(), map_.nodes.end(), name) -
                                             map_.nodes.begin()));
        }
        map_.further.push_back(map_.size());
        append(map_, nodes);
    }
    programs_.insert(programs_.end(), job.programs.begin(), job.programs.end());
    list_.push_back(std::move(job));
}

void Jobs::remove_last() {
    std::vector<Job> kept = std::move(list_);
    kept.pop_back();
    *this = Jobs();
    for (Job& job : kept) add(std::move(job));
}

const Job& Jobs::of(int rank) const {
    const auto after =
        std::upper_bound(list_.begin(), list_.end(), rank,
                         [](int number, const Job& job) { return number < job.first; });
    return *std::prev(after);
}

// Open MPI 5 takes the number after the last dot.
std::string next_name(const std::vector<Job>& jobs) {
    const std::string begin = fmt::format("{}.{}", jobs.front().nspace, jobs.size());
    const std::uint32_t family = openmpi_number(jobs.front().nspace) >> 16;
    for (std::uint32_t salt = 0;; ++salt) {
        std::string name = fmt::format("{}-{:x}", begin, salt);
        const std::uint32_t number = openmpi_number(name);
        if (number >> 16 != family) continue;
        const bool is_taken = std::any_of(jobs.begin(), jobs.end(), [number](const Job& job) {
            return openmpi_number(job.nspace) == number;
        });
        if (!is_taken) return name;
    }
}

Job job_on(const std::vector<int>& nodes, const RankMap& launch, std::vector<Program> programs) {
    const std::set<int> used(nodes.begin(), nodes.end());
    Job job{{}, launch.size(), -1, {{}, {0}}, std::move(programs)};
    for (const int node : used) {
        job.map.nodes.push_back(launch.nodes[node]);
        job.map.first.push_back(0);
    }
    std::vector<int> places;
    for (const int node : nodes) {
        places.push_back(static_cast<int>(std::distance(used.begin(), used.find(node))));
    }
    append(job.map, places);
    return job;
}

}  // namespace batchai::launcher
