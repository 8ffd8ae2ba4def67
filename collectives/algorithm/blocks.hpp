// SPDX-License-Identifier: Apache-2.0
//
// Blocks: how a buffer is cut into one block per rank, in rank order. Blocks stream through slots:
// chunk k of an operation is the k-th piece of every block. All numbers are bytes. Pure.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "collectives/common/chunking.hpp"

namespace batchai::coll {

class Blocks {
  public:
    // Blocks of counts[rank] elements of `element` bytes each; without counts, of `count` elements.
    // Allocates only if there are more ranks than ever before.
    void set(int ranks, std::span<const std::size_t> counts, std::size_t count,
             std::size_t element) {
        ends_.clear();
        longest_ = 0;
        for (int r = 0; r < ranks; ++r) {
            const std::size_t own = (counts.empty() ? count : counts[r]) * element;
            ends_.push_back((r == 0 ? 0 : ends_[r - 1]) + own);
            longest_ = std::max(longest_, own);
        }
    }

    int ranks() const { return static_cast<int>(ends_.size()); }
    // The start of the rank's block. offset(ranks()) is the end of the buffer.
    std::size_t offset(int rank) const { return rank == 0 ? 0 : ends_[rank - 1]; }
    std::size_t count(int rank) const { return ends_[rank] - offset(rank); }
    std::size_t longest() const { return longest_; }
    // The part of the buffer that is chunk k of the rank's block. It is empty beyond the block's
    // end.
    Range chunk(int rank, std::size_t per_chunk, std::uint64_t k) const {
        const std::size_t begin = std::min(count(rank), per_chunk * k);
        const std::size_t end = std::min(count(rank), begin + per_chunk);
        return {offset(rank) + begin, offset(rank) + end};
    }

  private:
    std::vector<std::size_t> ends_;  // by rank
    std::size_t longest_ = 0;
};

}  // namespace batchai::coll
