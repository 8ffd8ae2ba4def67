// SPDX-License-Identifier: Apache-2.0
//
// How a buffer is cut: into chunks that stream through the shared memory's slots, a chunk into the
// parts of the ranks that reduce it. Pure; every rank computes the same cuts from the same numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace batchai::coll {

constexpr int kSlots = 8;  // chunks under way at a time
constexpr std::size_t kAlignment = 64;
// Bytes of a chunk between nodes whose links are fast.
constexpr std::size_t kMostBetweenNodes = 128u << 10;

struct Range {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

// Part `index` of `parts` of [0, count): whole cache lines of elements, so that two ranks never
// write the same line, and as equal as that allows. Few elements all fall to part 0.
inline Range part_of(std::size_t count, std::size_t element, int index, int parts) {
    if (parts == 1) return {0, count};  // without divisions, which take longer than a short message
    const std::size_t granule = kAlignment / element;
    const auto edge = [&](int i) {
        // count * i / parts, rounded up; the product itself could overflow.
        const std::size_t at = count / parts * i + (count % parts * i + parts - 1) / parts;
        return i == parts ? count : std::min(count, (at + granule - 1) / granule * granule);
    };
    return {edge(index), edge(index + 1)};
}

// Bytes of a chunk, where the largest node has `ranks`, `beyond` of them beyond the rails, of `all`
// in the job. The slots that a rank works on stay in a second-level cache, or, where parts of a
// chunk are messages between nodes, all slots of a node in a last-level cache; a chunk is so large
// that its bookkeeping does not count, and that it holds some lines for every rank, for operations
// that have something for each.
//
// slow: the nodes' links are, so that caches do not matter. Then all chunks together keep a link
// busy for as long as the kernel may give a rank's core to others, some time slices.
inline std::size_t chunk_bytes(int ranks, int beyond, int all, bool slow) {
    constexpr std::size_t kBudget = 16u << 20, kLeast = 16u << 10, kSlow = 512u << 10;
    const std::size_t most = all == ranks ? 64u << 10 : kMostBetweenNodes;
    const std::size_t share = kBudget / (static_cast<std::size_t>(ranks) + 1) / kSlots;
    return std::max(slow ? kSlow : std::clamp(std::bit_floor(share), kLeast, most),
                    std::bit_ceil(kAlignment * static_cast<std::size_t>(all) *
                                  static_cast<std::size_t>(std::max(1, beyond))));
}

// The same of one message, where a chunk may have `most`: fewer, down to `least`, which is good on
// any link, so that some chunks overlap.
inline std::size_t chunk_of_message(std::size_t bytes, std::size_t least, std::size_t most) {
    constexpr std::size_t kChunks = 2 * kSlots;
    return std::min(most, std::max(least, std::bit_floor(bytes / kChunks)));
}

// How many of the rails a message takes: a rank that would have to be woken up for a part of fewer
// bytes costs more than it saves.
constexpr std::size_t kLeastPart = 4u << 10;
inline int rails_for(std::size_t bytes, int rails) {
    return static_cast<int>(
        std::clamp(bytes / kLeastPart, std::size_t{1}, static_cast<std::size_t>(rails)));
}
// Bytes of the largest part of a chunk that falls to a rail so.
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
