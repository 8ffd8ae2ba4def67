// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/beside.hpp"

namespace batchai::coll {

void Beside::begin(const Call& call, std::uint64_t number, std::uint64_t) {
    enter(call, number, {call.send, bytes_of(call.signature)});
}

Step Beside::step() {
    const Agreement agreement = agree();
    if (agreement == Agreement::broken) return Step::failed;
    if (agreement == Agreement::waiting) return Step::idle;
    const Signature& signature = call_.signature;
    const bool elsewhere =
        signature.kind == Kind::reduce && signature.root != context_.topology.rank;
    if (signature.count == 0 || elsewhere) return Step::done;
    for (int r = 0; r < context_.node.size(); ++r) {
        inputs_[r] = context_.node.data(r, number_, bytes_of(signature));
    }
    inputs_[context_.node.rank()] = call_.send;
    reduction_of(signature.type, signature.op)
        .combine(call_.receive, inputs_.data(), context_.node.size(), signature.count, scale());
    return Step::done;
}

}  // namespace batchai::coll
