// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/placed.hpp"

#include <algorithm>
#include <cstring>

namespace batchai::coll {

std::span<const std::byte> Placed::find(const Call& call, bool prefers) {
    static_assert(sizeof own_ <= Node::kInline);
    const Signature& signature = call.signature;
    own_ = {{}, {}, prefers};
    all_ = any_sends_ = has_choice_ = is_in_place_ = false;
    const std::size_t bytes = bytes_of(signature);
    if (context_.regions != nullptr && reduces_numbers(signature) && call.pieces.empty() &&
        (call.send == call.receive || bytes >= kFrom)) {
        own_.send = context_.regions->find(call.send, bytes);
        // With several nodes, the parts that rails get from each other are in slots anyway.
        if (context_.topology.nodes() == 1) {
            own_.receive = context_.regions->find(call.receive, bytes);
        }
    }
    return std::as_bytes(std::span(&own_, 1));
}

void Placed::learn(std::uint64_t operation) {
    all_ = true;
    bool all_prefer = true;
    for (int r = 0; r < context_.node.size(); ++r) {
        Places places;
        std::memcpy(&places, context_.node.data(r, operation, sizeof places), sizeof places);
        sends_[r] = places.send ? context_.regions->at(r, places.send) : nullptr;
        receives_[r] = places.receive ? context_.regions->at(r, places.receive) : nullptr;
        all_ = all_ && places.send && places.receive;
        any_sends_ = any_sends_ || places.send;
        all_prefer = all_prefer && places.prefers;
        has_choice_ = has_choice_ || places.send || places.receive;
    }
    is_in_place_ = has_choice_ && all_prefer;
    if (all_prefer) return;
    own_ = {};
    all_ = any_sends_ = false;
    std::fill(sends_.begin(), sends_.end(), nullptr);
    std::fill(receives_.begin(), receives_.end(), nullptr);
}

}  // namespace batchai::coll
