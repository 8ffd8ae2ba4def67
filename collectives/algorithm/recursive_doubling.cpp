// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/recursive_doubling.hpp"

#include <utility>

namespace batchai::coll {

void RecursiveDoubling::combine() {
    const void* inputs[] = {own_, other_};
    if ((leaf_ & distance_) != 0) std::swap(inputs[0], inputs[1]);
    if (2 * distance_ == leaves()) {
        reduction_.finish(data_, inputs, 2, count_, scale_);
    } else {
        reduction_.carry(own_, inputs, 2, count_, {});
    }
}

bool RecursiveDoubling::next_round() {
    if (distance_ > 0) combine();
    distance_ = distance_ == 0 ? 1 : 2 * distance_;
    if (distance_ == leaves()) {
        distance_ = 0;
        return false;
    }
    const int other = node_of(leaf_ ^ distance_);
    const int step = kRound + std::countr_zero(static_cast<unsigned>(distance_));
    receive(other, step, other_, count_ * reduction_.wide);
    send(other, step, own_, count_ * reduction_.wide);
    return true;
}

}  // namespace batchai::coll
