// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/placed.hpp"

#include <cstring>

namespace batchai::coll {

std::span<const std::byte> Placed::find(const Call& call) {
    static_assert(sizeof own_ <= Node::kInline);
    const Signature& signature = call.signature;
    own_ = {};
    all_ = any_sends_ = false;
    const std::size_t bytes = bytes_of(signature);
    if (context_.regions != nullptr && reduces_numbers(signature) && call.pieces.empty() &&
        (call.send == call.receive || bytes >= kFrom)) {
        own_.send = context_.regions->find(call.send, bytes);
        // With several nodes, the parts that rails get from each other are in slots anyway.
        if (signature.kind == Kind::allreduce && context_.topology.nodes() == 1) {
            own_.receive = context_.regions->find(call.receive, bytes);
        }
    }
    return std::as_bytes(std::span(&own_, 1));
}

void Placed::learn(std::uint64_t operation) {
    all_ = true;
    for (int r = 0; r < context_.node.size(); ++r) {
        Places places;
        std::memcpy(&places, context_.node.data(r, operation, sizeof places), sizeof places);
        sends_[r] = places.send ? context_.regions->at(r, places.send) : nullptr;
        receives_[r] = places.receive ? context_.regions->at(r, places.receive) : nullptr;
        all_ = all_ && places.send && places.receive;
        any_sends_ = any_sends_ || places.send;
    }
}

}  // namespace batchai::coll
