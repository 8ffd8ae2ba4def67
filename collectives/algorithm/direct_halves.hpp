// SPDX-License-Identifier: Apache-2.0
//
// DirectHalves: the two halves of a direct allreduce (direct.hpp), each as a separate operation.
// They are for data that the host does not combine: device memory, which the wire reads and writes
// in place. Each node of the communicator must have exactly one rank. part_of (chunking.hpp) cuts
// the data into one block per rank.
//   direct_scatter   block r of send goes to rank r; receive gets this rank's block from all
//                    others, in rank order, each stride() bytes after the one before
//   direct_gather    this rank's block of receive goes to all others, and theirs come there
//
// Cost of each for m bytes: a + (N-1) o + (N-1)/N m b.
#pragma once

#include "collectives/algorithm/operation.hpp"
#include "collectives/algorithm/swap.hpp"
#include "collectives/common/chunking.hpp"

namespace batchai::coll {

class DirectHalves final : public Operation {
  public:
    explicit DirectHalves(Context& context) : Operation(context) {}

    static std::size_t stride(std::size_t count, std::size_t element, int rank, int ranks) {
        const std::size_t bytes = part_of(count, element, rank, ranks).size() * element;
        return (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    // The most bytes that a scatter of `bytes` receives.
    static std::size_t scratch_needed(std::size_t bytes, int ranks) {
        return bytes + static_cast<std::size_t>(ranks) * 2 * kAlignment;
    }

    void begin(const Call& call, std::uint64_t number, std::uint64_t chunk) override;
    Step step() override;
    std::uint64_t chunks() const override { return 0; }
    void find_missing(Missing& missing) const override;
    void abandon() override { swap_.abandon(); }

  private:
    void scatter();
    void gather();
    Range block(int rank) const {  // the rank's block, in bytes
        const auto [begin, end] = part_of(call_.signature.count, element(), rank, ranks());
        return {begin * element(), end * element()};
    }
    std::size_t element() const { return type_size(call_.signature.type); }
    int rank() const { return context_.topology.rank; }
    int ranks() const { return context_.topology.size; }

    Swap swap_;
};

}  // namespace batchai::coll
