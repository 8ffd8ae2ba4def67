// SPDX-License-Identifier: Apache-2.0
//
// Fusion: chooses which submissions are reduced together, as one message. They need not be
// neighbours in line: a submission of another type between them does not separate them. Pure. All
// ranks choose the same, because the choice depends only on data on which they have agreed.
//
// The bits of a result do not depend on its message's other submissions (docs/collectives.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "collectives/queue/submission.hpp"

namespace batchai::coll {

// The properties that all submissions of one message have in common.
struct FusionKey {
    std::uint8_t type = 0, op = 0;
    double before = 1, after = 1;
    bool on_device = false;
    bool operator==(const FusionKey&) const = default;
};

// The key of an allreduce whose tensors all have the same properties; nullopt: it is not fused.
std::optional<FusionKey> fusion_key(const Submission& submission);
std::size_t elements_of(const Submission& submission);

// A submission, reduced to the properties that decide fusion.
struct Item {
    std::optional<FusionKey> key;
    std::size_t bytes = 0;
    int section = 0;  // only items with the same section are fused
    // The most bytes of a group that ends with this item, besides the threshold.
    std::size_t most = std::numeric_limits<std::size_t>::max();
    std::size_t least = 0;  // a smaller group takes the item anyway, if the threshold allows
};

using Fused = std::vector<std::uint32_t>;  // indices of items, ascending

// Groups of items, in the order of their last items. A group has at most `threshold` bytes and
// meets its items' limits, or it is one item.
std::vector<Fused> fuse(const std::vector<Item>& items, std::size_t threshold);

}  // namespace batchai::coll
