// SPDX-License-Identifier: Apache-2.0
//
// How a buffer is cut: into chunks that stream through the shared memory's slots, and a chunk into
// the parts of the ranks that reduce it. Pure; every rank computes the same cuts from the same
// numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace batchai::coll {

constexpr int kSlots = 8;  // chunks in progress at a time
constexpr std::size_t kAlignment = 64;
// The largest chunk, in bytes, between nodes with fast links.
constexpr std::size_t kMostBetweenNodes = 128u << 10;

struct Range {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

// Part `index` of `parts` of [0, count). Parts are whole cache lines of elements, so that two ranks
// never write the same line, and otherwise as equal as possible. Few elements all belong to part 0.
inline Range part_of(std::size_t count, std::size_t element, int index, int parts) {
    if (parts == 1) return {0, count};  // saves the divisions for a short message
    const std::size_t granule = kAlignment / element;
    const auto edge = [&](int i) {
        // count * i / parts, rounded up; the plain product could overflow.
        const std::size_t at = count / parts * i + (count % parts * i + parts - 1) / parts;
        return i == parts ? count : std::min(count, (at + granule - 1) / granule * granule);
    };
    return {edge(index), edge(index + 1)};
}

// Bytes of a chunk. ranks: of the largest node; beyond: those of its ranks that have no rail; all:
// ranks of the job. The slots that a rank uses fit a second-level cache. If parts of a chunk are
// messages between nodes, all slots of a node fit a last-level cache instead. A chunk is large
// enough that the work per chunk does not count. It holds some cache lines for every rank, for
// operations with one block per rank.
// slow: the nodes' links are slow, so that caches do not matter. Then all chunks in progress keep a
// link busy for some time slices, for which the kernel may give the rank's core to other threads.
inline std::size_t chunk_bytes(int ranks, int beyond, int all, bool slow) {
    constexpr std::size_t kBudget = 16u << 20, kLeast = 16u << 10, kSlow = 512u << 10;
    const std::size_t most = all == ranks ? 64u << 10 : kMostBetweenNodes;
    const std::size_t share = kBudget / (static_cast<std::size_t>(ranks) + 1) / kSlots;
    return std::max(slow ? kSlow : std::clamp(std::bit_floor(share), kLeast, most),
                    std::bit_ceil(kAlignment * static_cast<std::size_t>(all) *
                                  static_cast<std::size_t>(std::max(1, beyond))));
}

// Bytes of a chunk of one message. The chunk is smaller than `most` if the message is short, so
// that some chunks overlap. `least` is good on any link.
inline std::size_t chunk_of_message(std::size_t bytes, std::size_t least, std::size_t most) {
    constexpr std::size_t kChunks = 2 * kSlots;
    return std::min(most, std::max(least, std::bit_floor(bytes / kChunks)));
}

// The number of rails that a message uses. Waking a rank for a part smaller than kLeastPart bytes
// costs more than it saves.
constexpr std::size_t kLeastPart = 4u << 10;
inline int rails_for(std::size_t bytes, int rails) {
    return static_cast<int>(
        std::clamp(bytes / kLeastPart, std::size_t{1}, static_cast<std::size_t>(rails)));
}
// Bytes of the largest part of a chunk that one rail gets from rails_for.
inline std::size_t largest_part(std::size_t chunk, int rails) {
    return std::max(chunk / static_cast<std::size_t>(rails), std::min(chunk, 2 * kLeastPart)) +
           2 * kAlignment;
}

inline std::uint64_t chunks_of(std::size_t count, std::size_t elements_per_chunk) {
    return count / elements_per_chunk + (count % elements_per_chunk != 0);
}

// Chunk k of [0, count).
inline Range chunk_of(std::size_t count, std::size_t elements_per_chunk, std::uint64_t k) {
    const std::size_t begin = elements_per_chunk * k;
    return {begin, begin + std::min(elements_per_chunk, count - begin)};
}

}  // namespace batchai::coll
