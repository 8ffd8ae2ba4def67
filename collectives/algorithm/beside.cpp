// SPDX-License-Identifier: Apache-2.0
//
// Beside: short operations of a job on one node, also barriers and empty ones. The data travels
// with the signature, in the rank's entry or in its eager buffer. Every rank takes what it needs
// from there: it reduces all data for itself, in the same order, or copies its blocks. It uses no
// slots and no chunks, and waits once for each other rank.
//
// Cost for S bytes of each rank: a + (G-1) S / Bi; of an all-to-all, S of all others together: a +
// S / Bi. Bi: bandwidth of another core's cache. The pipeline's allreduce costs 3 a + 2 (G-1)/G S /
// Bi, which is more for messages up to some kilobytes.

#include <cstring>

#include "collectives/algorithm/operation.hpp"
#include "collectives/common/veto.hpp"

namespace batchai::coll {
namespace {

class Beside final : public Operation {
  public:
    explicit Beside(Context& context) : Operation(context), inputs_(context.node.size()) {}

    bool takes(const Call& call) const override {
        if (context_.topology.nodes() > 1) return false;
        if (is_empty(call.signature)) return true;
        if (!knows(call)) return false;
        const std::size_t bytes = given(call.signature);
        const auto others = static_cast<std::size_t>(context_.node.size() - 1);
        return bytes <= Node::kInline || (bytes <= Node::kEager && bytes * others <= kMost);
    }

    void begin(const Call& call, std::uint64_t number, std::uint64_t chunk) override;
    Step step() override;
    std::uint64_t chunks() const override { return 0; }
    void find_missing(Missing& missing) const override { find_absent(missing); }
    void abandon() override {}

  private:
    static constexpr std::size_t kMost = 16u << 10;  // bytes of all other ranks together

    // Blocks must have equal lengths.
    static bool knows(const Call& call) {
        const Kind kind = call.signature.kind;
        return reduces_numbers(call.signature) || kind == Kind::broadcast ||
               (kind == Kind::allgather && call.counts.empty()) || kind == Kind::alltoall;
    }
    // Bytes that a rank has for the others; in a broadcast only the root has some.
    std::size_t given(const Signature& signature) const {
        const std::size_t blocks =
            signature.kind == Kind::alltoall ? static_cast<std::size_t>(context_.node.size()) : 1;
        return blocks * bytes_of(signature);
    }
    // What a rank has given.
    const std::byte* of(int rank) const {
        if (rank == context_.node.rank()) return send_;
        return context_.node.data(rank, number_, given(call_.signature));
    }
    void reduce();
    void take_blocks();
    void hand_out();

    std::vector<const void*> inputs_;
    const std::byte* send_ = nullptr;
    std::byte* receive_ = nullptr;
    std::byte together_[Node::kEager];  // the call's pieces, gathered
};

}  // namespace

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

std::unique_ptr<Operation> make_beside(Context& context) {
    return std::make_unique<Beside>(context);
}

}  // namespace batchai::coll
