// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/beside.hpp"

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
    enter(call, number, {send_, bytes_of(signature)});
}

Step Beside::step() {
    const Agreement agreement = agree();
    if (agreement == Agreement::broken) return Step::failed;
    if (agreement == Agreement::waiting) return Step::idle;
    const Signature& signature = call_.signature;
    const bool elsewhere =
        signature.kind == Kind::reduce && signature.root != context_.topology.rank;
    if (is_empty(signature) || elsewhere) return Step::done;
    for (int r = 0; r < context_.node.size(); ++r) {
        inputs_[r] = context_.node.data(r, number_, bytes_of(signature));
    }
    inputs_[context_.node.rank()] = send_;
    reduction_of(signature.type, signature.op)
        .combine(receive_, inputs_.data(), context_.node.size(), signature.count, scale());
    if (!call_.pieces.empty()) hand_out();
    return Step::done;
}

void Beside::hand_out() {
    const Signature& signature = call_.signature;
    if (call_.vetoed != nullptr) *call_.vetoed = is_veto(signature.type, together_);
    if (call_.vetoed != nullptr && *call_.vetoed) return;
    Pieces(call_.pieces, type_size(signature.type)).scatter({0, signature.count}, together_, false);
}

}  // namespace batchai::coll
