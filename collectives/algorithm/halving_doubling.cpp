// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/halving_doubling.hpp"

#include <utility>

namespace batchai::coll {

HalvingDoubling::Parts HalvingDoubling::after(int leaf, int distance) const {
    Parts parts{0, leaves()};
    for (int d = 1; d <= distance; d *= 2) {
        const int middle = (parts.first + parts.end) / 2;
        ((leaf & d) == 0 ? parts.end : parts.first) = middle;
    }
    return parts;
}

Range HalvingDoubling::elements(Parts parts) const {
    return {part_of(count_, reduction_.element, parts.first, leaves()).begin,
            part_of(count_, reduction_.element, parts.end - 1, leaves()).end};
}

bool HalvingDoubling::next_round() {
    if (gathers_) return gather();
    if (distance_ > 0) combine();
    return scatter();
}

void HalvingDoubling::combine() {
    const Range own = elements(after(leaf_, distance_));
    std::byte* wide = own_ + own.begin * reduction_.wide;
    const void* inputs[] = {wide, other_};
    if ((leaf_ & distance_) != 0) std::swap(inputs[0], inputs[1]);
    if (2 * distance_ == leaves()) {
        std::byte* out = data_ + own.begin * reduction_.element;
        reduction_.finish(out, inputs, 2, own.size(), scale_);
    } else {
        reduction_.carry(wide, inputs, 2, own.size(), {});
    }
}

bool HalvingDoubling::scatter() {
    distance_ = distance_ == 0 ? 1 : 2 * distance_;
    if (distance_ == leaves()) {
        gathers_ = true;
        return gather();
    }
    const int other = leaf_ ^ distance_;
    const int step = kRound + std::countr_zero(static_cast<unsigned>(distance_));
    const Range keep = elements(after(leaf_, distance_)), give = elements(after(other, distance_));
    receive(node_of(other), step, other_, keep.size() * reduction_.wide);
    send(node_of(other), step, own_ + give.begin * reduction_.wide, give.size() * reduction_.wide);
    return true;
}

bool HalvingDoubling::gather() {
    distance_ /= 2;
    if (distance_ == 0) {
        gathers_ = false;
        return false;
    }
    const int other = leaf_ ^ distance_;
    const int step = kRound + std::countr_zero(static_cast<unsigned>(distance_));
    const Range have = elements(after(leaf_, distance_)), get = elements(after(other, distance_));
    receive(node_of(other), step, data_ + get.begin * reduction_.element,
            get.size() * reduction_.element);
    send(node_of(other), step, data_ + have.begin * reduction_.element,
         have.size() * reduction_.element);
    return true;
}

}  // namespace batchai::coll
