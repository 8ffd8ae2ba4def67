// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/ring.hpp"

namespace batchai::coll {

void Ring::start(Wire& wire, Tag tag, int slot, int node, int nodes, const Reduction& reduction,
                 const Scale& scale, std::byte* data, std::byte* scratch, std::size_t count) {
    begin(wire, tag, slot);
    reduction_ = reduction;
    scale_ = scale;
    data_ = data;
    scratch_ = scratch;
    count_ = count;
    node_ = node;
    nodes_ = nodes;
    round_ = 0;
}

void Ring::combine(int index) {
    const void* inputs[] = {scratch_, block(index)};
    const bool last = round_ == nodes_ - 1;
    reduction_.combine(block(index), inputs, 2, range(index).size(), last ? scale_ : Scale{});
}

// In round r of the first N-1, the node sends block node - r and receives block node - r - 1. After
// these rounds it has the result of block node + 1.
bool Ring::advance() {
    const int next = (node_ + 1) % nodes_, before = (node_ + nodes_ - 1) % nodes_;
    if (round_ > 0 && round_ < nodes_) combine(node_ - round_);
    if (round_ == 2 * (nodes_ - 1)) return false;
    if (round_ < nodes_ - 1) {
        receive(before, 0, scratch_, bytes(node_ - round_ - 1));
        send(next, 0, block(node_ - round_), bytes(node_ - round_));
    } else {
        const int gathered = round_ - (nodes_ - 1);
        receive(before, 0, block(node_ - gathered), bytes(node_ - gathered));
        send(next, 0, block(node_ + 1 - gathered), bytes(node_ + 1 - gathered));
    }
    ++round_;
    return true;
}

}  // namespace batchai::coll
