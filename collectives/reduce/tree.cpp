// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce/tree.hpp"

#include <cstring>

namespace batchai::coll {

void combine_tree(const Reduction& reduction, std::span<std::byte*> blocks, std::byte* out,
                  std::size_t count) {
    const auto pair = [&](std::byte* left, std::byte* right) {
        const void* inputs[] = {left, right};
        reduction.combine(left, inputs, 2, count);
    };
    const Leaves leaves(static_cast<int>(blocks.size()));
    for (int i = 0; i < leaves.folded; ++i) pair(blocks[2 * i], blocks[2 * i + 1]);
    for (int i = 0; i < leaves.count; ++i) blocks[i] = blocks[leaves.node_of(i)];
    for (int width = 1; width < leaves.count; width *= 2) {
        for (int i = 0; i < leaves.count; i += 2 * width) pair(blocks[i], blocks[i + width]);
    }
    if (blocks[0] != out) std::memcpy(out, blocks[0], count * reduction.element);
}

}  // namespace batchai::coll
