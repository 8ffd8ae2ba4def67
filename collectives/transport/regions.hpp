// SPDX-License-Identifier: Apache-2.0
//
// Regions: memory of a communicator's ranks that all ranks of the node have mapped, so that they
// read and write its buffers in place, without a copy. Each rank has its own part of a region, of
// any length. Regions are numbered from 1, alike on all ranks, which add and remove them between
// the same operations.
//
// Pure, except that it owns the mappings. It does not communicate: comm_memory.cpp does.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/transport/shm.hpp"

namespace batchai::coll {

class Regions {
  public:
    // The place of a buffer, in terms that are valid on all ranks of the node.
    struct Place {
        std::uint32_t region = 0;  // 0: in none
        std::uint64_t offset = 0;  // from the start of its rank's part
        explicit operator bool() const { return region != 0; }
    };

    explicit Regions(int local_rank) : local_rank_(local_rank) {}

    // parts: by local rank.
    void add(std::vector<Segment> parts);
    // Unmaps it.
    void remove(std::uint32_t number);

    // The region whose part of this rank's begins there; 0: none.
    std::uint32_t number_of(const void* memory) const;
    // Where this rank's buffer lies.
    Place find(const void* data, std::size_t bytes) const;
    // The address of a buffer of another rank of the node. Null: there is no such region.
    std::byte* at(int local_rank, Place place) const;

  private:
    struct Region {
        std::uint32_t number;
        std::vector<Segment> parts;
    };

    int local_rank_;
    std::uint32_t last_ = 0;
    std::vector<Region> regions_;
};

}  // namespace batchai::coll
