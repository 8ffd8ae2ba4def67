// SPDX-License-Identifier: Apache-2.0
//
// Placed: finds the buffers of a reduction that lie in memory that all ranks of the node can
// address (Regions). Each rank publishes the places of its buffers when it enters the operation.
// Those buffers need no slots: the other ranks read and write them in place.
//
// A rank that enters hands its buffers over to the others, with all data that it has written there.
// When a rank stores `reduced` of a chunk (shm.hpp), it has read and written its part of the chunk.
// No other rank reads or writes that part before.
//
// On one node, messages that fit the caches use slots if that is faster (Faster). Short messages
// that are not reduced in place always use slots. A core reads the result sooner from a slot than
// from its own buffer, whose cache lines another core has written.
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

    // Finds the places of this rank's buffers; returns them for the other ranks. prefers: whether
    // this rank would go in place rather than through slots (Faster). If one would not, no rank
    // does.
    std::span<const std::byte> find(const Call& call, bool prefers);
    // Reads the places of the node's other ranks, once all have entered the operation.
    void learn(std::uint64_t operation);

    // Whether this rank's buffer has a place.
    bool sends() const { return own_.prefers && own_.send; }
    bool receives() const { return own_.prefers && own_.receive; }
    // The buffer of a local rank; null: the rank uses slots. Call learn() first.
    const std::byte* send(int rank) const { return sends_[rank]; }
    std::byte* receive(int rank) const { return receives_[rank]; }
    // has_choice: some buffer has a place. is_in_place: it is used. Call learn() first.
    bool has_choice() const { return has_choice_; }
    bool is_in_place() const { return is_in_place_; }
    // all: no rank uses slots. any_sends: other ranks read some rank's buffer in place. Call
    // learn() first.
    bool all() const { return all_; }
    bool any_sends() const { return any_sends_; }

  private:
    static constexpr std::size_t kFrom = 128u << 10;  // bytes; shorter messages use slots

    struct Places {
        Regions::Location send, receive;
        bool prefers = false;
    };

    const Context& context_;
    bool all_ = false, any_sends_ = false, has_choice_ = false, is_in_place_ = false;
    Places own_;
    std::vector<const std::byte*> sends_;
    std::vector<std::byte*> receives_;
};

}  // namespace batchai::coll
