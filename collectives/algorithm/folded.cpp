// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/folded.hpp"

namespace batchai::coll {
namespace {

constexpr int kFold = 0, kUnfold = 1;  // steps of a tag

}  // namespace

void Folded::prepare() {
    const bool wide = widens(nodes_) && reduction_.wide != reduction_.element;
    if (!wide) {
        reduction_.wide = reduction_.element;
        reduction_.widen = reduction_.carry = reduction_.finish = reduction_.combine;
    }
    own_ = wide ? scratch_ : data_;
    other_ = wide ? scratch_ + count_ * reduction_.wide : scratch_;
    leaves_ = Leaves(nodes_);
    leaf_ = leaves_.leaf_of(node_);
    stage_ = leaves_.is_folded(node_) ? Stage::fold : Stage::rounds;
    const void* inputs[] = {data_};
    if (wide && stage_ == Stage::rounds) reduction_.widen(own_, inputs, 1, count_, {});
}

// The odd node of a folded pair sends its data and waits for the result.
void Folded::fold() {
    if (node_ % 2 == 1) {
        send(node_ - 1, kFold, data_, count_ * reduction_.element);
        stage_ = Stage::unfold;
    } else {
        receive(node_ + 1, kFold, other_, count_ * reduction_.element);
        stage_ = Stage::unfolded;
    }
}

bool Folded::advance() {
    switch (stage_) {
        case Stage::fold:
            fold();
            return true;
        case Stage::unfolded: {
            const void* inputs[] = {data_, other_};
            reduction_.widen(own_, inputs, 2, count_, {});
            stage_ = Stage::rounds;
            return true;
        }
        case Stage::rounds:
            if (next_round()) return true;
            if (!leaves_.is_folded(node_)) return false;
            send(node_ + 1, kUnfold, data_, count_ * reduction_.element);
            stage_ = Stage::end;
            return true;
        case Stage::unfold:
            receive(node_ - 1, kUnfold, data_, count_ * reduction_.element);
            stage_ = Stage::end;
            return true;
        case Stage::end:
            return false;
    }
    return false;
}

}  // namespace batchai::coll
