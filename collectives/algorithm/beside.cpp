// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/beside.hpp"

#include <cstring>

#include "collectives/common/veto.hpp"

namespace batchai::coll {

void Beside::begin(const Call& call, std::uint64_t number, std::uint64_t) {
    const Signature& signature = call.signature;
    send_ = call.send;
    receive_ = call.receive;
    if (!call.pieces.empty()) {
        send_ = receive_ = together_;
        Pieces(call.pieces, type_size(signature.type)).gather({0, signature.count}, together_);
    }
    const bool gives =
        signature.kind != Kind::broadcast || signature.root == context_.topology.rank;
    enter(call, number, {send_, gives ? given(signature) : 0});
}

Step Beside::step() {
    const Agreement agreement = agree();
    if (agreement == Agreement::broken) return Step::failed;
    if (agreement == Agreement::waiting) return Step::idle;
    if (is_empty(call_.signature)) return Step::done;
    if (reduces_numbers(call_.signature))
        reduce();
    else
        take_blocks();
    return Step::done;
}

void Beside::reduce() {
    const Signature& signature = call_.signature;
    for (int r = 0; r < context_.node.size(); ++r) inputs_[r] = of(r);
    reduction_of(signature.type, signature.op)
        .combine(receive_, inputs_.data(), context_.node.size(), signature.count, scale());
    if (!call_.pieces.empty()) hand_out();
}

void Beside::take_blocks() {
    const Signature& signature = call_.signature;
    const std::size_t bytes = bytes_of(signature);
    if (signature.kind == Kind::broadcast) {
        if (receive_ != of(local_root())) std::memcpy(receive_, of(local_root()), bytes);
        return;
    }
    const bool to_each = signature.kind == Kind::alltoall;
    const std::size_t own = to_each ? static_cast<std::size_t>(context_.node.rank()) * bytes : 0;
    for (int r = 0; r < context_.node.size(); ++r) {
        std::byte* to = receive_ + static_cast<std::size_t>(r) * bytes;
        if (to != of(r) + own) std::memcpy(to, of(r) + own, bytes);
    }
}

void Beside::hand_out() {
    const Signature& signature = call_.signature;
    if (call_.vetoed != nullptr) *call_.vetoed = is_veto(signature.type, together_);
    if (call_.vetoed != nullptr && *call_.vetoed) return;
    Pieces(call_.pieces, type_size(signature.type)).scatter({0, signature.count}, together_, false);
}

}  // namespace batchai::coll
