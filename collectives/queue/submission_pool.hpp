// SPDX-License-Identifier: Apache-2.0
//
// SubmissionPool: makes the submissions of callers' orders and keeps their memory. A named
// submission is kept for the next one with its name, because a job repeats the same operations.
// It has no lock.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collectives/queue/submission.hpp"

namespace batchai::coll {

// One operation to submit.
struct Order {
    std::string_view name = {};  // empty: operations are matched in order
    std::string_view text = {};  // must agree on all ranks too; shown in messages
    std::span<const Part> parts = {};
    Run run = nullptr;  // called if there are no parts
    void* argument = nullptr;
    int priority = 0;
    bool join = false;             // as in Submission
    Device::Event mark = nullptr;  // as in Submission
    Device::Stream stream = nullptr;
};

class SubmissionPool {
  public:
    explicit SubmissionPool(std::size_t names_kept) : names_kept_(names_kept) {}

    // Null: an operation with that name has not ended yet.
    Submission* make(const Order& order);
    // The caller has got the submission's end.
    void take_back(Submission* submission);
    // Numbers submissions without a name from 1 again.
    void restart_numbers() { unnamed_ = 0; }

  private:
    struct NameHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const {
            return std::hash<std::string_view>()(name);
        }
    };

    Submission* take_unused();
    Submission* take_named(std::string_view name);
    void forget_names();

    std::size_t names_kept_;
    // by name: the last submission
    std::unordered_map<std::string, Submission*, NameHash, std::equal_to<>> names_;
    std::deque<Submission> submissions_;  // all submissions
    std::vector<Submission*> unused_;
    std::uint64_t unnamed_ = 0;
};

}  // namespace batchai::coll
