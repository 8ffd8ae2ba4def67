// SPDX-License-Identifier: Apache-2.0
//
// Placed: which buffers of a reduction's call, of all ranks of the node, lie in memory that all of
// them can address (Regions), and where. Each rank says so as it enters the operation. Those
// buffers take no slots: ranks read what another one gives where it lies, and write what it gets to
// where it is to be.
//
// By entering, a rank leaves its buffers to the others, with all that it has written there; by
// storing `reduced` of a chunk (shm.hpp) each of them has read and written its part of it. Nobody
// else reads or writes that part before.
//
// Short messages that are not reduced in place go through slots all the same: a core has the result
// sooner from there than from where another one has written into what was in its own cache.
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

    // Of this rank's call; what the others are to know of it.
    std::span<const std::byte> find(const Call& call);
    // What the node's other ranks have said, once all have entered the operation.
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
