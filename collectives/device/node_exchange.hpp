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
    static constexpr std::size_t kSlots = 4;  // chunks under way

    struct Chunk {
        std::uint64_t number = 0;  // from 0, counts those of all operations
        const std::byte* send = nullptr;
        std::byte* receive = nullptr;  // may be send
        std::size_t count = 0;
        batchai_coll_type type = BATCHAI_COLL_FLOAT32;
        batchai_coll_op op = BATCHAI_COLL_SUM;  // not average
        double before = 1, after = 1;           // as in Device::Reduction, of reduce()
        int divisor = 1;
    };

    NodeExchange() = default;
    NodeExchange(const NodeExchange&) = delete;
    NodeExchange& operator=(const NodeExchange&) = delete;
    virtual ~NodeExchange() = default;

    // The first one of the numbers of so many chunks. Those before are gathered.
    std::uint64_t take_numbers(std::uint64_t chunks) {
        return std::exchange(next_, next_ + chunks);
    }

    // Whether all is ordered; if not, to be called again, once others have moved.
    virtual bool reduce(const Chunk& chunk) = 0;
    // The same, of what stands in place() after the event. Null: it does already.
    virtual bool gather(const Chunk& chunk, Device::Event after) = 0;

    // Which elements of the chunk are this rank's.
    virtual Range part(const Chunk& chunk) const = 0;
    // Where reduce() makes this rank's part, and where gather() takes it from.
    virtual std::byte* place(const Chunk& chunk) const = 0;

    virtual Device::Stream stream() const = 0;
    virtual std::size_t chunk_bytes() const = 0;  // of a chunk, at most
    virtual std::size_t part_bytes() const = 0;   // of a rank's part of one, at most
    virtual const char* name() const = 0;

  private:
    std::uint64_t next_ = 0;
};

}  // namespace batchai::coll
