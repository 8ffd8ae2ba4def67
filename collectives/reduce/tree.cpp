// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/tree.hpp"

#include <algorithm>

namespace batchai::coll {
namespace {

constexpr std::size_t kLevelBytes = 4096;

// The blocks, from element `at` on.
class Slice {
  public:
    Slice(const Reduction& reduction, std::span<const std::byte* const> blocks, std::size_t at,
          std::size_t count, std::byte* scratch)
        : reduction_(reduction),
          blocks_(blocks),
          offset_(at * reduction.element),
          count_(count),
          scratch_(scratch),
          leaves_(static_cast<int>(blocks.size())) {}

    void combine(std::byte* out, const Scale& scale) const {
        const int half = leaves_.count / 2;
        if (blocks_.size() <= 2) {
            const void* inputs[] = {block(0), block(static_cast<int>(blocks_.size()) - 1)};
            reduction_.combine(out, inputs, static_cast<int>(blocks_.size()), count_, scale);
            return;
        }
        widen(0, half, 0);
        widen(half, half, 1);
        const void* inputs[] = {level(0), level(1)};
        reduction_.finish(out, inputs, 2, count_, scale);
    }

  private:
    const std::byte* block(int node) const { return blocks_[node] + offset_; }
    std::byte* level(int i) const { return scratch_ + i * kLevelBytes; }

    // Combines `width` leaves from `first` on into a level of the scratch memory. Uses the later
    // levels.
    void widen(int first, int width, int to) const {
        const int node = leaves_.node_of(first);
        if (width == 1) {
            const bool folded = leaves_.is_folded(node);
            const void* inputs[] = {block(node), block(folded ? node + 1 : node)};
            reduction_.widen(level(to), inputs, folded ? 2 : 1, count_, {});
            return;
        }
        widen(first, width / 2, to);
        widen(first + width / 2, width / 2, to + 1);
        const void* inputs[] = {level(to), level(to + 1)};
        reduction_.carry(level(to), inputs, 2, count_, {});
    }

    const Reduction& reduction_;
    std::span<const std::byte* const> blocks_;
    std::size_t offset_, count_;
    std::byte* scratch_;
    Leaves leaves_;
};

}  // namespace

std::size_t tree_scratch_needed(int nodes) {
    const auto leaves = static_cast<unsigned>(Leaves(nodes).count);
    return (static_cast<std::size_t>(std::countr_zero(leaves)) + 1) * kLevelBytes;
}

void combine_tree(const Reduction& reduction, std::span<const std::byte* const> blocks,
                  std::byte* out, std::size_t count, const Scale& scale, std::byte* scratch) {
    const std::size_t at_once = kLevelBytes / reduction.wide;
    for (std::size_t at = 0; at < count; at += at_once) {
        const std::size_t n = std::min(at_once, count - at);
        Slice(reduction, blocks, at, n, scratch).combine(out + at * reduction.element, scale);
    }
}

}  // namespace batchai::coll
