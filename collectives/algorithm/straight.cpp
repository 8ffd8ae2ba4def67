// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/straight.hpp"

#include <cstring>

#include "collectives/reduce/copy.hpp"

namespace batchai::coll {

std::span<const std::byte> Straight::beside(const Call& call) {
    static_assert(sizeof own_ <= Node::kInline);
    const std::size_t bytes = sent(call);
    own_ = {{}, bytes > 0};
    is_straight_ = false;
    if (context_.regions != nullptr && topology().nodes() == 1 && knows_places(call) &&
        bytes >= kFrom)
        own_.place = context_.regions->find(call.send, bytes);
    return std::as_bytes(std::span(&own_, 1));
}

// A rank whose send buffer is outside of the regions knows that all ranks use slots.
bool Straight::waits_for_all() const {
    return topology().nodes() == 1 && knows_places(call_) && (own_.place || !own_.sends);
}

std::uint64_t Straight::plan_with_all() {
    if (!waits_for_all()) return chunks();
    for (int r = 0; r < node().size(); ++r) {
        Offer offer;
        std::memcpy(&offer, node().data(r, number_, sizeof offer), sizeof offer);
        if (offer.sends && !offer.place) return chunks();
        sends_[r] = offer.sends ? context_.regions->at(r, offer.place) : nullptr;
    }
    is_straight_ = true;
    pieces_ = chunks_of(longest(), kPiece);
    taken_ = 0;
    return 1;
}

Step Straight::step() {
    if (!is_straight_) {
        const Step step = Pipeline::step();
        if (!is_straight_) return step;
    }
    const bool moves = taken_ < pieces_;
    if (moves) {
        take(taken_++);
        if (context_.fault != nullptr) context_.fault->reach(number_, taken_);
        if (taken_ < pieces_) return Step::moved;
        if (streaming_) end_streaming();
        node().publish(node().copied(node().rank()), at(0));
        node().publish(node().reduced(node().rank()), at(0));
    }
    if (!all_reduced(0, node().size()) || !may_end()) return moves ? Step::moved : Step::idle;
    node().publish(node().taken(node().rank()), at(0));
    return Step::done;
}

}  // namespace batchai::coll
