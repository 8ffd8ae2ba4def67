// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/recursive_doubling.hpp"

namespace batchai::coll {
namespace {

constexpr int kFold = 0, kUnfold = 1, kRound = 2;  // steps of a tag

}  // namespace

void RecursiveDoubling::start(Wire& wire, Tag tag, int slot, int node, int nodes,
                              const Reduction& reduction, std::byte* data, std::byte* scratch,
                              std::size_t count) {
    begin(wire, tag, slot);
    reduction_ = reduction;
    data_ = data;
    scratch_ = scratch;
    count_ = count;
    bytes_ = count * reduction.element;
    leaves_ = Leaves(nodes);
    node_ = node;
    leaf_ = leaves_.leaf_of(node);
    distance_ = 1;
    stage_ = leaves_.is_folded(node) ? Stage::fold : Stage::round;
}

void RecursiveDoubling::combine(bool other_is_left) {
    const void* inputs[] = {data_, scratch_};
    if (other_is_left) std::swap(inputs[0], inputs[1]);
    reduction_.combine(data_, inputs, 2, count_);
}

// The odd node of a folded pair gives its data away and waits for the result.
bool RecursiveDoubling::fold() {
    const bool gives = node_ % 2 == 1;
    if (gives) {
        send(node_ - 1, kFold, data_, bytes_);
        stage_ = Stage::unfold;
    } else {
        receive(node_ + 1, kFold, scratch_, bytes_);
        stage_ = Stage::unfolded;
    }
    return true;
}

bool RecursiveDoubling::swap() {
    const int other = leaves_.node_of(leaf_ ^ distance_);
    const int step = kRound + std::countr_zero(static_cast<unsigned>(distance_));
    receive(other, step, scratch_, bytes_);
    send(other, step, data_, bytes_);
    stage_ = Stage::combine;
    return true;
}

bool RecursiveDoubling::advance() {
    switch (stage_) {
        case Stage::fold:
            return fold();
        case Stage::unfolded:
            combine(false);
            stage_ = Stage::round;
            return true;
        case Stage::combine:
            combine((leaf_ & distance_) != 0);
            distance_ *= 2;
            stage_ = Stage::round;
            return true;
        case Stage::round:
            if (distance_ < leaves_.count) return swap();
            if (!leaves_.is_folded(node_)) return false;
            send(node_ + 1, kUnfold, data_, bytes_);
            stage_ = Stage::end;
            return true;
        case Stage::unfold:
            receive(node_ - 1, kUnfold, data_, bytes_);
            stage_ = Stage::end;
            return true;
        case Stage::end:
            return false;
    }
    return false;
}

}  // namespace batchai::coll
