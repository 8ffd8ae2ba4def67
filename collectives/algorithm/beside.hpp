// SPDX-License-Identifier: Apache-2.0
//
// Beside: allreduces of a few numbers, barriers and empty operations of a job on one node. The data
// travels beside the signature in the rank's entry, and every rank reduces all of it for itself, in
// the same order. One to four cache lines of each rank, no slots, no chunks.
//
// Cost: a + 4 (G-1) line transfers at most.
#pragma once

#include "collectives/algorithm/operation.hpp"

namespace batchai::coll {

class Beside final : public Operation {
  public:
    explicit Beside(Context& context) : Operation(context), inputs_(context.node.size()) {}

    static bool takes(const Signature& signature) {
        if (is_empty(signature)) return true;
        return signature.kind == Kind::allreduce && bytes_of(signature) <= Node::kInline;
    }

    void begin(const Call& call, std::uint64_t number, std::uint64_t chunk) override;
    Step step() override;
    std::uint64_t chunks() const override { return 0; }
    Missing waiting_for() const override { return absent(); }
    void abandon() override {}

  private:
    std::vector<const void*> inputs_;
};

}  // namespace batchai::coll
