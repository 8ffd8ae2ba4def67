// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/direct.hpp"

namespace batchai::coll {
namespace {

constexpr int kScatter = 0, kGather = 1;  // steps of a tag

}  // namespace

// Starts with the next node, so that the nodes do not all send to the same one first.
void Direct::scatter() {
    blocks_.assign(nodes_, nullptr);
    blocks_[node_] = block(node_);
    std::byte* room = scratch_ + tree_scratch_needed(nodes_);
    for (int i = 1; i < nodes_; ++i) {
        const int from = (node_ + nodes_ - i) % nodes_;
        blocks_[from] = room;
        if (bytes(node_) > 0) receive(from, kScatter, room, bytes(node_));
        room += bytes(node_);
    }
    for (int i = 1; i < nodes_; ++i) {
        const int to = (node_ + i) % nodes_;
        if (bytes(to) > 0) send(to, kScatter, block(to), bytes(to));
    }
}

void Direct::combine() {
    combine_tree(reduction_, blocks_, block(node_), range(node_).size(), scale_, scratch_);
}

void Direct::gather() {
    for (int i = 1; i < nodes_; ++i) {
        const int from = (node_ + nodes_ - i) % nodes_;
        if (bytes(from) > 0) receive(from, kGather, block(from), bytes(from));
    }
    for (int i = 1; i < nodes_; ++i) {
        const int to = (node_ + i) % nodes_;
        if (bytes(node_) > 0) send(to, kGather, block(node_), bytes(node_));
    }
}

bool Direct::advance() {
    switch (stage_) {
        case Stage::scatter:
            scatter();
            stage_ = Stage::gather;
            return true;
        case Stage::gather:
            combine();
            gather();
            stage_ = Stage::end;
            return true;
        case Stage::end:
            return false;
    }
    return false;
}

}  // namespace batchai::coll
