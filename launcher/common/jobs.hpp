// SPDX-License-Identifier: Apache-2.0
//
// Jobs: the jobs of a launch. The first one is the user's. Ranks start further ones while it runs
// (PMIx_Spawn, MPI_Comm_spawn). The root and each agent know all of them.
//
// A rank's number is unique in the launch: a further job has the numbers after those of the jobs
// before it. Only the PMIx library counts the ranks of each job from 0 (pmix/job_names.hpp).
#pragma once

#include <string>
#include <vector>

#include "launcher/common/map.hpp"
#include "launcher/common/program.hpp"
#include "sys/codec.hpp"

namespace batchai::launcher {

struct Job {
    std::string nspace;             // its name in PMIx
    int first = 0;                  // the number of its rank 0
    int parent = -1;                // the rank that has started it; -1: the user has
    RankMap map;                    // of its ranks from 0; of a further job, only nodes with ranks
    std::vector<Program> programs;  // whose ranks are those of the map
    BATCHAI_FIELDS(nspace, first, parent, map, programs);
};

class Jobs {
  public:
    // Adds a job whose `first` is map().size(), on nodes of the first one.
    void add(Job job);
    void remove_last();

    // Of all jobs: these rank numbers are those of the launch.
    const RankMap& map() const { return map_; }
    const std::vector<Program>& programs() const { return programs_; }
    const std::vector<Job>& list() const { return list_; }
    // The job of a rank of the launch.
    const Job& of(int rank) const;
    bool is_of_first(int rank) const { return rank < list_.front().map.size(); }

  private:
    std::vector<Job> list_;
    RankMap map_;
    std::vector<Program> programs_;
};

// A name for the next job. Open MPI 4.1 takes a job's number from a hash of the name, and connects
// jobs only if the upper halves of their numbers are equal: the name is chosen so that they are.
std::string next_name(const std::vector<Job>& jobs);

// A job of ranks with these programs, in the order of its ranks, each on one of `nodes`: by their
// numbers in `launch`.
Job job_on(const std::vector<int>& nodes, const RankMap& launch, std::vector<Program> programs);

}  // namespace batchai::launcher
