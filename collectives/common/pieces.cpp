// SPDX-License-Identifier: Apache-2.0
#include "collectives/common/pieces.hpp"

#include <algorithm>

#include "collectives/reduce/copy.hpp"

namespace batchai::coll {

std::size_t Pieces::find(std::size_t element) const {
    const auto found =
        std::upper_bound(pieces_.begin(), pieces_.end(), element,
                         [](std::size_t wanted, const Piece& piece) { return wanted < piece.end; });
    return static_cast<std::size_t>(found - pieces_.begin());
}

template <class With>
void Pieces::for_each(Range range, With with) const {
    for (std::size_t p = find(range.begin), at = range.begin; at < range.end; ++p) {
        const Piece& piece = pieces_[p];
        const std::size_t end = std::min(piece.end, range.end);
        if (end == at) continue;  // the piece is empty, and its pointers may be null
        with(piece, (at - piece.begin) * element_, (at - range.begin) * element_,
             (end - at) * element_);
        at = end;
    }
}

void Pieces::gather(Range range, std::byte* to) const {
    for_each(range, [&](const Piece& piece, std::size_t place, std::size_t offset, std::size_t n) {
        if (piece.send != nullptr) copy_for_others(to + offset, piece.send + place, n);
    });
}

void Pieces::scatter(Range range, const std::byte* from, bool streaming) const {
    for_each(range, [&](const Piece& piece, std::size_t place, std::size_t offset, std::size_t n) {
        copy_bytes(piece.receive + place, from + offset, n, streaming);
    });
}

const std::byte* Pieces::source(Range range) const {
    if (range.size() == 0) return nullptr;
    const Piece& piece = pieces_[find(range.begin)];
    if (piece.end < range.end || piece.send == nullptr) return nullptr;
    return piece.send + (range.begin - piece.begin) * element_;
}

std::byte* Pieces::target(Range range) const {
    if (range.size() == 0) return nullptr;
    const Piece& piece = pieces_[find(range.begin)];
    return piece.end < range.end ? nullptr : piece.receive + (range.begin - piece.begin) * element_;
}

}  // namespace batchai::coll
