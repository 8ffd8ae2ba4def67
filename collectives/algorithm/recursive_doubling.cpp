// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/recursive_doubling.hpp"

namespace batchai::coll {
namespace {

constexpr int kFold = 0, kUnfold = 1, kRound = 2;  // steps of a tag

}  // namespace

void RecursiveDoubling::start(Wire& wire, Tag tag, int slot, int node, int nodes,
                              const Reduction& reduction, const Scale& scale, std::byte* data,
                              std::byte* scratch, std::size_t count) {
    begin(wire, tag, slot);
    reduction_ = reduction;
    const bool wide = widens(nodes) && reduction.wide != reduction.element;
    if (!wide) {
        reduction_.wide = reduction.element;
        reduction_.widen = reduction_.carry = reduction_.finish = reduction.combine;
    }
    scale_ = scale;
    data_ = data;
    own_ = wide ? scratch : data;
    other_ = wide ? scratch + count * reduction.wide : scratch;
    count_ = count;
    bytes_ = count * reduction.element;
    leaves_ = Leaves(nodes);
    node_ = node;
    leaf_ = leaves_.leaf_of(node);
    distance_ = 1;
    stage_ = leaves_.is_folded(node) ? Stage::fold : Stage::round;
    const void* inputs[] = {data};
    if (wide && stage_ == Stage::round) reduction_.widen(own_, inputs, 1, count_, {});
}

void RecursiveDoubling::combine_fold() {
    const void* inputs[] = {data_, other_};
    reduction_.widen(own_, inputs, 2, count_, {});
}

void RecursiveDoubling::combine_round() {
    const void* inputs[] = {own_, other_};
    if ((leaf_ & distance_) != 0) std::swap(inputs[0], inputs[1]);
    const bool last = 2 * distance_ == leaves_.count;
    if (last) {
        reduction_.finish(data_, inputs, 2, count_, scale_);
    } else {
        reduction_.carry(own_, inputs, 2, count_, {});
    }
}

// The odd node of a folded pair gives its data away and waits for the result.
bool RecursiveDoubling::fold() {
    const bool gives = node_ % 2 == 1;
    if (gives) {
        send(node_ - 1, kFold, data_, bytes_);
        stage_ = Stage::unfold;
    } else {
        receive(node_ + 1, kFold, other_, bytes_);
        stage_ = Stage::unfolded;
    }
    return true;
}

bool RecursiveDoubling::swap() {
    const int other = leaves_.node_of(leaf_ ^ distance_);
    const int step = kRound + std::countr_zero(static_cast<unsigned>(distance_));
    receive(other, step, other_, count_ * reduction_.wide);
    send(other, step, own_, count_ * reduction_.wide);
    stage_ = Stage::combine;
    return true;
}

bool RecursiveDoubling::advance() {
    switch (stage_) {
        case Stage::fold:
            return fold();
        case Stage::unfolded:
            combine_fold();
            stage_ = Stage::round;
            return true;
        case Stage::combine:
            combine_round();
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
