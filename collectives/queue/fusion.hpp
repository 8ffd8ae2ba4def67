// SPDX-License-Identifier: Apache-2.0
//
// Fusion: chooses which submissions are reduced together, as one message. They need not be
// neighbours in line: a submission of another type between them does not separate them. Pure. All
// ranks choose the same, because the choice depends only on what they have agreed on.
//
// The bits of a result do not depend on what it is fused with (docs/collectives.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "collectives/queue/submission.hpp"

namespace batchai::coll {

// The properties that all submissions of one message share.
struct FusionKey {
    std::uint8_t type = 0, op = 0;
    double before = 1, after = 1;
    bool on_device = false;
    bool operator==(const FusionKey&) const = default;
};

// The key of an allreduce whose tensors are all alike; none otherwise: it is not fused.
std::optional<FusionKey> fusion_key(const Submission& submission);
std::size_t elements_of(const Submission& submission);

// A submission, as far as fusion is concerned.
struct Item {
    std::optional<FusionKey> key;
    std::size_t bytes = 0;
    int section = 0;  // only items of one section are fused
    // Bytes of a group that ends with it, beside the threshold.
    std::size_t most = std::numeric_limits<std::size_t>::max();
    std::size_t least = 0;  // a group of fewer bytes takes it nevertheless, if the threshold allows
};

using Fused = std::vector<std::uint32_t>;  // indices of items, ascending

// Groups of at most `threshold` bytes, and what their items say, or of one item, in the order of
// their last items.
std::vector<Fused> fuse(const std::vector<Item>& items, std::size_t threshold);

}  // namespace batchai::coll
