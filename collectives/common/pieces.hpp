// SPDX-License-Identifier: Apache-2.0
//
// Pieces: the data of a reduction that lies in several buffers, such as many gradients, and is
// reduced as if it were one buffer. The data is copied directly between these buffers and the
// node's shared memory. No other buffer collects it.
#pragma once

#include <cstddef>
#include <span>

#include "collectives/common/chunking.hpp"

namespace batchai::coll {

// Elements [begin, end) of the whole data. send and receive may be equal.
struct Piece {
    const std::byte* send = nullptr;  // null: this rank's input does not matter
    std::byte* receive = nullptr;
    std::size_t begin = 0, end = 0;
};

class Pieces {
  public:
    Pieces() = default;
    // pieces: of numbers of `element` bytes, in order, without gaps; they remain the caller's.
    Pieces(std::span<const Piece> pieces, std::size_t element)
        : pieces_(pieces), element_(element) {}

    // Copies the range's elements to and from contiguous memory.
    void gather(Range range, std::byte* to) const;
    void scatter(Range range, const std::byte* from, bool streaming) const;
    // The address of the range's elements if they are contiguous, else null.
    const std::byte* source(Range range) const;
    std::byte* target(Range range) const;

  private:
    // The index of the piece with this element.
    std::size_t find(std::size_t element) const;
    // Calls `with` for each piece's part of the range, with its place in the piece and in the
    // range.
    template <class With>
    void for_each(Range range, With with) const;

    std::span<const Piece> pieces_;
    std::size_t element_ = 1;
};

}  // namespace batchai::coll
