// SPDX-License-Identifier: Apache-2.0
//
// NodeExchange: the work of the devices inside a node in a hierarchical allreduce, chunk by chunk.
// reduce() is a reduce-scatter, after which each rank has its part of the node's result. gather()
// is an allgather of the final parts. Both only give orders, to one stream, and never wait.
//
// All ranks of the node call the same sequence of reduce() and gather(), each until it returns
// true. They reduce chunk k + kSlots only after they have gathered chunk k.
#pragma once

#include <cstdint>
#include <utility>

#include "collectives/common/call.hpp"
#include "collectives/common/chunking.hpp"
#include "collectives/device/orders.hpp"

namespace batchai::coll {

class NodeExchange {
  public:
    static constexpr std::size_t kSlots = 4;  // chunks in progress

    struct Chunk {
        std::uint64_t number = 0;  // from 0, counted over all operations
        const std::byte* send = nullptr;
        std::byte* receive = nullptr;  // may be send
        std::size_t count = 0;
        batchai_coll_type type = BATCHAI_COLL_FLOAT32;
        batchai_coll_op op = BATCHAI_COLL_SUM;  // not average, which is a sum with a divisor
        double before = 1, after = 1;           // as in Device::Reduction; applied by reduce()
        int divisor = 1;
    };

    NodeExchange() = default;
    NodeExchange(const NodeExchange&) = delete;
    NodeExchange& operator=(const NodeExchange&) = delete;
    virtual ~NodeExchange() = default;

    // Reserves numbers for so many chunks; returns the first. All earlier chunks are gathered.
    std::uint64_t take_numbers(std::uint64_t chunks) {
        return std::exchange(next_, next_ + chunks);
    }

    // Gives the orders. False: call again after the other ranks have made progress.
    virtual bool reduce(const Chunk& chunk) = 0;
    // Gathers the parts that are in place() after the event; null: they are there already.
    virtual bool gather(const Chunk& chunk, Device::Event after) = 0;

    // The elements of the chunk that this rank reduces.
    virtual Range part(const Chunk& chunk) const = 0;
    // The address at which reduce() writes this rank's part, and from which gather() reads it.
    virtual std::byte* place(const Chunk& chunk) const = 0;

    virtual Device::Stream stream() const = 0;
    virtual std::size_t chunk_bytes() const = 0;  // the largest chunk
    virtual std::size_t part_bytes() const = 0;   // the largest part of a rank
    virtual const char* name() const = 0;

  private:
    std::uint64_t next_ = 0;
};

}  // namespace batchai::coll
