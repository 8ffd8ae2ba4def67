// SPDX-License-Identifier: Apache-2.0
//
// Placed: finds the buffers of a reduction that lie in memory that all ranks of the node can
// address (Regions). Each rank publishes the places of its buffers as it enters the operation.
// Those buffers need no slots: the other ranks read and write them in place.
//
// When a rank enters, it leaves its buffers, with all that it has written there, to the others.
// When a rank stores `reduced` of a chunk (shm.hpp), it has read and written its part of the chunk.
// No other rank reads or writes that part before.
//
// Short messages that are not reduced in place go through slots all the same. A core gets the
// result sooner from a slot than from its own buffer, whose cache lines another core has written.
#pragma once

#include <span>
#include <vector>

#include "collectives/algorithm/operation.hpp"
#include "collectives/transport/regions.hpp"

namespace batchai::coll {

class Placed {
  public:
    explicit Placed(const Context& context)
        : context_(context), sends_(context.node.size()), receives_(context.node.size()) {}

    // Looks at this rank's call; returns the places for the others.
    std::span<const std::byte> find(const Call& call);
    // Reads the places of the node's other ranks, once all have entered the operation.
    void learn(std::uint64_t operation);

    // Whether this rank's are.
    bool sends() const { return static_cast<bool>(own_.send); }
    bool receives() const { return static_cast<bool>(own_.receive); }
    // Those of a local rank; null: it is to be found in slots. After learn().
    const std::byte* send(int rank) const { return sends_[rank]; }
    std::byte* receive(int rank) const { return receives_[rank]; }
    // Whether no rank uses slots; whether any rank's buffer is read where it is. Not before
    // learn().
    bool all() const { return all_; }
    bool any_sends() const { return any_sends_; }

  private:
    static constexpr std::size_t kFrom = 128u << 10;  // bytes

    struct Places {
        Regions::Place send, receive;
    };

    const Context& context_;
    bool all_ = false, any_sends_ = false;
    Places own_;
    std::vector<const std::byte*> sends_;
    std::vector<std::byte*> receives_;
};

}  // namespace batchai::coll
