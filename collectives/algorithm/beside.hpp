// SPDX-License-Identifier: Apache-2.0
//
// Beside: short allreduces and reduces, barriers and empty operations of a job on one node. The
// data travels with the signature, in the rank's entry or on its board. Every rank reduces all data
// for itself, in the same order. It uses no slots and no chunks, and waits once for each other
// rank.
//
// Cost for S bytes: a + (G-1) S / Bi. Bi: bandwidth of another core's cache. The pipeline costs 3 a
// + 2 (G-1)/G S / Bi, which is more for messages up to some kilobytes.
#pragma once

#include "collectives/algorithm/operation.hpp"

namespace batchai::coll {

class Beside final : public Operation {
  public:
    explicit Beside(Context& context) : Operation(context), inputs_(context.node.size()) {}

    bool takes(const Signature& signature) const {
        if (is_empty(signature)) return true;
        if (!reduces_numbers(signature)) return false;
        const std::size_t bytes = bytes_of(signature);
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

    void hand_out();

    std::vector<const void*> inputs_;
    const std::byte* send_ = nullptr;
    std::byte* receive_ = nullptr;
    std::byte together_[Node::kBoard];  // the call's pieces, gathered
};

}  // namespace batchai::coll
