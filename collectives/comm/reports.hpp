// SPDX-License-Identifier: Apache-2.0
//
// FailureReports: what an engine learns of failures while its operation makes no progress: reports
// of other ranks and of the watchdog, ranks that call another operation, and lost connections.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "collectives/algorithm/operation.hpp"

namespace batchai::coll {

class FailureReports {
  public:
    struct Report {
        Failure failure;
        bool reported = false;  // the other nodes know it already
    };

    // patience: how long to wait for a report of the cause after a lost connection.
    FailureReports(const Context& context, std::chrono::milliseconds patience);

    // A failure of this node, or of the job's communicator if this one has only some of its ranks.
    std::optional<Failure> here() const;
    // A failure that this node or another one has reported.
    std::optional<Report> take();
    // The same, and other signs of a failure: the communicator's operation of that number has made
    // no progress for `idle`. Reports of other ranks come first, because they name the cause.
    std::optional<Report> look(std::uint64_t operation, const Signature& signature,
                               std::chrono::nanoseconds idle);
    // Reports a failure to the other nodes.
    void tell(const Failure& failure) const;
    std::chrono::milliseconds patience() const { return patience_; }

  private:
    // An operation that a node has reported to rank 0.
    struct Entered {
        std::uint64_t operation = 0;
        Signature signature;
        int rank = 0;
    };

    std::optional<Failure> find_mismatch(const Entered& own, std::chrono::nanoseconds idle);
    std::optional<Failure> find_loss();

    const Context& context_;
    std::chrono::milliseconds patience_;
    std::vector<Entered> entered_;  // on rank 0, by node
    std::uint64_t said_ = 0;        // the last operation that this rank has reported to rank 0
    std::optional<std::chrono::steady_clock::time_point> lost_at_;
};

}  // namespace batchai::coll
