// SPDX-License-Identifier: Apache-2.0
//
// Pieces: the data of a reduction that lies in several places, as that of many gradients does, but
// is reduced as if it were one buffer. They are copied from where they are into the node's shared
// memory and back, which is the only copy: there is no buffer to put them together in.
#pragma once

#include <cstddef>
#include <span>

#include "collectives/common/chunking.hpp"

namespace batchai::coll {

// Elements [begin, end) of the whole. send may be receive.
struct Piece {
    const std::byte* send = nullptr;  // null: what this rank gives does not matter
    std::byte* receive = nullptr;
    std::size_t begin = 0, end = 0;
};

class Pieces {
  public:
    Pieces() = default;
    // Of numbers of `element` bytes; in order, without a gap. They stay the caller's.
    Pieces(std::span<const Piece> pieces, std::size_t element)
        : pieces_(pieces), element_(element) {}

    // Copies the range's elements to and from memory of the range's length.
    void gather(Range range, std::byte* to) const;
    void scatter(Range range, const std::byte* from, bool streaming) const;
    // Where the range's elements lie one after the other; null where they do not.
    const std::byte* source(Range range) const;
    std::byte* target(Range range) const;

  private:
    // The piece with this element.
    std::size_t find(std::size_t element) const;
    // Calls with each piece's part of the range, and its place in the piece and in the range.
    template <class With>
    void for_each(Range range, With with) const;

    std::span<const Piece> pieces_;
    std::size_t element_ = 1;
};

}  // namespace batchai::coll
