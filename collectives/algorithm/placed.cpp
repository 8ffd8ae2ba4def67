// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/placed.hpp"

#include <algorithm>
#include <cstring>

namespace batchai::coll {

std::span<const std::byte> Placed::find(const Call& call) {
    static_assert(sizeof own_ <= Node::kInline);
    const Signature& signature = call.signature;
    const Regions* regions = context_.regions;
    own_ = {};
    all_ = false;
    are_told_ = regions != nullptr && !regions->empty() && reduces_numbers(signature);
    if (!are_told_) return {};
    const std::size_t bytes = bytes_of(signature);
    if (call.pieces.empty() && (call.send == call.receive || bytes >= kFrom)) {
        own_.send = regions->find(call.send, bytes);
        // Of several nodes, what the rails get from each other lies in slots anyway.
        if (signature.kind == Kind::allreduce && context_.topology.nodes() == 1) {
            own_.receive = regions->find(call.receive, bytes);
        }
    }
    return std::as_bytes(std::span(&own_, 1));
}

void Placed::learn(std::uint64_t operation) {
    all_ = are_told_;
    for (int r = 0; r < context_.node.size(); ++r) {
        Places places;
        if (are_told_) {
            std::memcpy(&places, context_.node.data(r, operation, sizeof places), sizeof places);
        }
        sends_[r] = places.send ? context_.regions->at(r, places.send) : nullptr;
        receives_[r] = places.receive ? context_.regions->at(r, places.receive) : nullptr;
        all_ = all_ && places.send && places.receive;
    }
}

}  // namespace batchai::coll
