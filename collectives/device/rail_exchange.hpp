// SPDX-License-Identifier: Apache-2.0
//
// RailExchange: the work between the nodes in a hierarchical allreduce, among the ranks with the
// same local rank, chunk by chunk. It replaces this rank's part of the node's result, in place, by
// the same part of the result of all nodes. Parts come back in the order in which they were taken.
// At most kSlots are in progress. It never waits for the device or for other ranks.
#pragma once

#include <cstdint>

#include "collectives/device/node_exchange.hpp"

namespace batchai::coll {

class RailExchange {
  public:
    static constexpr std::uint64_t kSlots = NodeExchange::kSlots;

    struct Part {
        std::byte* place = nullptr;  // device memory; the part has at most part_bytes
        std::size_t count = 0;
        batchai_coll_type type = BATCHAI_COLL_FLOAT32;
        batchai_coll_op op = BATCHAI_COLL_SUM;  // not average, which is a sum with a divisor
        double after = 1;                       // as in Device::Reduction
        int divisor = 1;                        // 1 for 16-bit numbers
        bool last = false;                      // the last part of an allreduce
    };

    RailExchange() = default;
    RailExchange(const RailExchange&) = delete;
    RailExchange& operator=(const RailExchange&) = delete;
    virtual ~RailExchange() = default;

    // Takes a part that is complete after the stream's current orders.
    virtual void take(const Part& part, Device::Stream stream) = 0;
    // Makes progress on the parts. Returns whether there was any.
    virtual bool step() = 0;
    // Parts are counted from 0, over all operations. returned(): how many are back, or ordered to
    // be back. back(k): the event after which part k is in its place; null: it is already there.
    std::uint64_t returned() const { return returned_; }
    virtual Device::Event back(std::uint64_t k) const = 0;

    virtual const char* name() const = 0;
    // The reason why the host's part has failed. OK: the device has failed, and Orders has the
    // error.
    const Failure& failure() const { return failure_; }

  protected:
    std::uint64_t returned_ = 0;
    Failure failure_;
};

}  // namespace batchai::coll
