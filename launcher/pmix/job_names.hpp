// SPDX-License-Identifier: Apache-2.0
//
// JobNames: translates between the ranks of a launch by number and PMIx's names of them, which are
// the name of a job and a rank in it. Beside Box it is the only object that two threads share: the
// library's thread translates, and the loop's thread adds the jobs.
#pragma once

#include <pmix.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "launcher/common/rank_set.hpp"

namespace batchai::launcher::pmix {

class JobNames {
  public:
    // A job with these numbers.
    void add(const std::string& nspace, int first, int size);
    void remove_last();

    // Nothing: it is no rank of a known job.
    std::optional<std::uint32_t> number(const pmix_proc_t& proc) const;
    // The ranks of an array of the library, in which PMIX_RANK_WILDCARD stands for all ranks of a
    // job. Nothing: one of them is not known.
    std::optional<RankSet> numbers(const pmix_proc_t procs[], std::size_t count) const;
    pmix_proc_t proc(std::uint32_t number) const;
    // "JOB,JOB"
    std::string names() const;

  private:
    struct Entry {
        std::string nspace;
        std::uint32_t first = 0, size = 0;
    };
    const Entry* find(const char* nspace) const;

    mutable std::mutex mutex_;
    std::vector<Entry> jobs_;
};

}  // namespace batchai::launcher::pmix
