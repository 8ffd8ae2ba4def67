// SPDX-License-Identifier: Apache-2.0
//
// Judge: decides which operations start and which fail if the ranks' pending requests differ. Pure:
// every rank judges the same requests and comes to the same verdicts. An operation that is pending
// on all ranks starts, in the order of the first rank. It fails if ranks describe it differently. A
// rank is stuck if its caller waits for an operation that is not pending on all ranks. If every
// rank is stuck and no operation can start, all operations fail.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sys/codec.hpp"

namespace batchai::coll {

// A rank's pending requests, as sent to the other ranks.
struct PendingRequests {
    bool stuck = false;             // its caller waits for one of them, or the rank leaves
    bool closing = false;           // the rank leaves
    std::vector<std::string> keys;  // in the order of submission
    std::uint64_t seen = 0;  // of a rank that has joined: rounds with verdicts since it joined

    bool has_joined() const;

    bool operator==(const PendingRequests&) const = default;
    BATCHAI_FIELDS(stuck, closing, seen, keys)
};

// A rank that has joined submits no more. It takes part with zeros in the others' sums and
// averages; their other operations fail. When all ranks have joined, the joins start.
struct Verdict {
    std::string key;       // of at least one rank
    std::string sentence;  // the error; empty: the operation starts
};

// requests: by rank. numbers: the ranks' numbers in messages. Returns at most one verdict per key,
// in the order of execution. Other keys stay pending.
std::vector<Verdict> judge(const std::vector<PendingRequests>& requests,
                           const std::vector<int>& numbers);

// All ranks have joined: returns the last one that did.
int last_to_join(const std::vector<PendingRequests>& requests);

// The ranks that have not submitted an operation of others: "allreduce.a: not submitted by ranks 1,
// 3; ...". Empty: no operation is missing.
std::string describe_stall(const std::vector<PendingRequests>& requests,
                           const std::vector<int>& numbers);

}  // namespace batchai::coll
