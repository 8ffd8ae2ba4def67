// SPDX-License-Identifier: Apache-2.0
//
// Broadcast: the root copies its chunk into its in slot, and the ranks of its node copy it from
// there; or straight from its buffer (straight.hpp). The rails of its node send a part each to
// their counterparts, which write it into their nodes' out slots.
//
// With slots, a rank that has its data depends on no other rank. So it would not notice a rank that
// calls another operation. With several nodes, one more chunk ends the operation: a barrier between
// the nodes, on the first rail. Inside a node, it is enough that all ranks have entered.
//
// Cost: see spread.hpp, for the parts of the rails.
#pragma once

#include "collectives/algorithm/recursive_doubling.hpp"
#include "collectives/algorithm/spread.hpp"
#include "collectives/algorithm/straight.hpp"

namespace batchai::coll {

class Broadcast final : public Straight {
  public:
    using Straight::Straight;

  protected:
    std::uint64_t plan() override;
    void copy_in(std::uint64_t k) override;
    bool can_work(std::uint64_t k) override;
    Exchange* work(std::uint64_t k) override;
    bool can_copy_out(std::uint64_t k) override;
    void copy_out(std::uint64_t k) override;
    std::size_t sent(const Call& call) const override;
    std::size_t total(const Call& call) const override { return bytes_of(call.signature); }
    int blocks() const override { return 1; }
    bool takes(const Call& call) const override { return call.signature.root != topology().rank; }
    std::size_t longest() const override { return bytes_; }
    void take(std::size_t per_piece, std::uint64_t piece) override;

  private:
    bool is_barrier(std::uint64_t k) const { return k == data_chunks_; }
    Range chunk(std::uint64_t k) const { return chunk_of(bytes_, node().slot_bytes(), k); }
    Exchange* barrier(std::uint64_t k);

    std::size_t bytes_ = 0;
    std::uint64_t data_chunks_ = 0;
    int local_root_ = -1;
    Spread::Shape shape_ = Spread::Shape::binomial;
    std::array<Spread, kSlots> spread_;
    RecursiveDoubling barrier_;
};

}  // namespace batchai::coll
