// SPDX-License-Identifier: Apache-2.0
//
// Beside: short operations of a job on one node, also barriers and empty ones. The data travels
// with the signature, in the rank's entry or on its board. Every rank takes what it needs from
// there: it reduces all data for itself, in the same order, or copies its blocks. It uses no slots
// and no chunks, and waits once for each other rank.
//
// Cost for S bytes of each rank: a + (G-1) S / Bi; of an all-to-all, S of all others together: a +
// S / Bi. Bi: bandwidth of another core's cache. The pipeline's allreduce costs 3 a + 2 (G-1)/G S /
// Bi, which is more for messages up to some kilobytes.
#pragma once

#include "collectives/algorithm/operation.hpp"

namespace batchai::coll {

class Beside final : public Operation {
  public:
    explicit Beside(Context& context) : Operation(context), inputs_(context.node.size()) {}

    bool takes(const Call& call) const {
        if (is_empty(call.signature)) return true;
        if (!knows(call)) return false;
        const std::size_t bytes = given(call.signature);
        const auto others = static_cast<std::size_t>(context_.node.size() - 1);
        return bytes <= Node::kInline || (bytes <= Node::kBoard && bytes * others <= kMost);
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
    std::byte together_[Node::kBoard];  // the call's pieces, gathered
};

}  // namespace batchai::coll
