// SPDX-License-Identifier: Apache-2.0
//
// RailExchange: the work between the nodes in a hierarchical allreduce, among the ranks with the
// same local rank, chunk by chunk. It replaces this rank's part of the node's result, in place, by
// that part of the result of all nodes. Parts come back in the order in which they were taken; up
// to kSlots are under way. It never waits for the device or for other ranks.
#pragma once

#include <cstdint>

#include "collectives/device/node_exchange.hpp"

namespace batchai::coll {

class RailExchange {
  public:
    static constexpr std::uint64_t kSlots = NodeExchange::kSlots;

    struct Part {
        std::byte* place = nullptr;  // on the device; of no more than part_bytes
        std::size_t count = 0;
        batchai_coll_type type = BATCHAI_COLL_FLOAT32;
        batchai_coll_op op = BATCHAI_COLL_SUM;  // not average
        double after = 1;                       // as in Device::Reduction
        int divisor = 1;                        // of numbers of 16 bits: 1
        bool last = false;                      // of an allreduce
    };

    RailExchange() = default;
    RailExchange(const RailExchange&) = delete;
    RailExchange& operator=(const RailExchange&) = delete;
    virtual ~RailExchange() = default;

    // A part that is in its place once the stream has come to here.
    virtual void take(const Part& part, Device::Stream stream) = 0;
    // Moves parts along. Whether anything has moved.
    virtual bool step() = 0;
    // Of all that were ever taken, counted from 0: how many are back, or ordered to be; and when
    // part k of these is in its place: after the event, or, null, already.
    std::uint64_t returned() const { return returned_; }
    virtual Device::Event back(std::uint64_t k) const = 0;

    virtual const char* name() const = 0;
    // Why the host part has failed. OK if the device failed: then Orders has the error.
    const Failure& failure() const { return failure_; }

  protected:
    std::uint64_t returned_ = 0;
    Failure failure_;
};

}  // namespace batchai::coll
