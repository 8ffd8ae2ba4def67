// SPDX-License-Identifier: Apache-2.0
//
// All-to-all, of blocks of equal or different lengths: rank d gets block d of every rank. A chunk
// in a slot holds a piece of every block, in the order of nodes. The length of its block precedes
// each piece, so that a rank that expects another length reports it.
//
// On one node every rank copies its pieces from the others' slots, or straight from their buffers
// (straight.hpp). Between nodes, rail k of R rails receives for local ranks k, k + R, k + 2R, ...
// For each other node it gathers its node's pieces into one message, and gets one message from
// there. Pieces for ranks without a rail pass through the out slot.
//
// Cost for S bytes that a rank has for all others, N nodes of G ranks: the larger of 3 S / Bi in
// the node and a + (N-1)/N G S / (R Be) between the nodes. A rank sends N - 1 messages instead of G
// N - G.
//
// Source: Träff, Rougier, "MPI Collectives and Datatypes for Hierarchical All-to-all
// Communication", EuroMPI 2014.
#pragma once

#include "collectives/algorithm/blocks.hpp"
#include "collectives/algorithm/straight.hpp"
#include "collectives/algorithm/swap.hpp"

namespace batchai::coll {

class Alltoall final : public Straight {
  public:
    explicit Alltoall(Context& context);

  protected:
    std::uint64_t plan() override;
    void copy_in(std::uint64_t k) override;
    bool can_work(std::uint64_t k) override;
    Exchange* work(std::uint64_t k) override;
    void finish(std::uint64_t k) override;
    bool can_copy_out(std::uint64_t k) override;
    void copy_out(std::uint64_t k) override;
    bool knows_places(const Call& call) const override {
        return call.signature.kind == Kind::alltoall;
    }
    std::size_t sent(const Call& call) const override;
    std::size_t total(const Call& call) const override { return sent(call); }
    std::size_t longest() const override { return receive_.longest(); }
    void take(std::size_t per_piece, std::uint64_t piece) override;
    // If counts do not match, some rank notices it in copy out and reports it to all others.
    bool may_end() override {
        return Straight::may_end() && (call_.facts == nullptr || call_.facts->balance == 0);
    }

  private:
    static constexpr std::size_t kHeader = sizeof(std::uint64_t);

    // The offset of a rank's piece in a slot. In an in slot the piece is for that rank, in an out
    // slot it is from that rank.
    std::size_t place(int rank) const {
        return static_cast<std::size_t>(position_[rank]) * stride_;
    }
    // How many ranks of the node this rail serves.
    std::size_t served(int n) const;
    // Bytes of a message from one node to another on this rail.
    std::size_t message(int from, int to) const;
    // The pieces for a rank of this node, as another node has sent them, in the order of sources.
    std::byte* received(int from, int local, std::uint64_t k);
    // The place in the out slot of the pieces that other nodes send to a rank without a rail.
    std::byte* handed_on(int local, std::uint64_t k) const;
    void deliver(int source, const std::byte* piece, std::uint64_t k);

    std::vector<int> position_;        // by rank, in the order of nodes
    std::vector<std::size_t> before_;  // by node: the number of ranks on the nodes before it
    Blocks send_, receive_;            // in bytes
    std::size_t stride_ = 0, per_chunk_ = 0;
    std::array<Swap, kSlots> swaps_;
    std::array<std::vector<std::byte>, kSlots> outgoing_, incoming_;
};

}  // namespace batchai::coll
