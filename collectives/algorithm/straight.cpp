// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/straight.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "collectives/reduce/copy.hpp"

namespace batchai::coll {

std::span<const std::byte> Straight::beside(const Call& call) {
    static_assert(sizeof own_ <= Node::kInline);
    const std::size_t bytes = given(call);
    own_ = {{}, bytes > 0};
    is_straight_ = false;
    if (context_.regions != nullptr && topology().nodes() == 1 && knows_places(call) &&
        bytes >= kFrom)
        own_.place = context_.regions->find(call.send, bytes);
    return std::as_bytes(std::span(&own_, 1));
}

// A rank that gives from elsewhere knows that the slots are used.
bool Straight::waits_for_all() const {
    return topology().nodes() == 1 && knows_places(call_) && (own_.place || !own_.gives);
}

std::uint64_t Straight::plan_with_all() {
    if (!waits_for_all()) return chunks();
    for (int r = 0; r < node().size(); ++r) {
        Offer offer;
        std::memcpy(&offer, node().data(r, number_, sizeof offer), sizeof offer);
        if (offer.gives && !offer.place) return chunks();
        sends_[r] = offer.gives ? context_.regions->at(r, offer.place) : nullptr;
    }
    is_straight_ = true;
    pieces_ = std::max<std::uint64_t>(1, chunks_of(longest(), kPiece));
    taken_ = 0;
    return 1;
}

Step Straight::step() {
    if (!is_straight_) {
        const Step step = Pipeline::step();
        if (!is_straight_ || step == Step::failed) return step;
    }
    if (taken_ < pieces_) {
        take(taken_++);
        if (context_.fault != nullptr) context_.fault->reach(number_, taken_);
        if (taken_ < pieces_) return Step::moved;
        if (streaming_) end_streaming();
        node().publish(node().copied(node().rank()), at(0));
        node().publish(node().reduced(node().rank()), at(0));
    }
    if (!all_reduced(0, node().size()) || !may_end()) return Step::idle;
    node().publish(node().taken(node().rank()), at(0));
    return Step::done;
}

// After a failure on a rank, its program may have overwritten its data before all ranks had read
// it. The rank reports the failure before it returns to its program.
bool Straight::may_end() {
    if (!is_straight_) return true;
    std::atomic_thread_fence(std::memory_order_acquire);
    return !node().failed();
}

}  // namespace batchai::coll
