// SPDX-License-Identifier: Apache-2.0
//
// Regions: memory of a communicator's ranks that all ranks of the node have mapped. They read and
// write buffers in it in place, without a copy. Each rank has its own part of a region, of any
// length. Regions are numbered from 1. The numbers are the same on all ranks, which add and remove
// regions between the same operations.
//
// Pure, except that it owns the mappings. comm.cpp communicates for it.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/transport/shm.hpp"

namespace batchai::coll {

class Regions {
  public:
    // The location of a buffer, valid on all ranks of the node.
    struct Location {
        std::uint32_t region = 0;  // 0: in no region
        std::uint64_t offset = 0;  // from the start of its rank's part
        explicit operator bool() const { return region != 0; }
    };

    explicit Regions(int local_rank) : local_rank_(local_rank) {}

    // parts: by local rank.
    void add(std::vector<Segment> parts);
    // Unmaps the region.
    void remove(std::uint32_t number);

    // The region in which this rank's part starts at that address; 0: none.
    std::uint32_t number_of(const void* memory) const;
    // The location of this rank's buffer.
    Location find(const void* data, std::size_t bytes) const;
    // The address of a buffer of another rank of the node. Null: the region does not exist.
    std::byte* at(int local_rank, Location location) const;

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
