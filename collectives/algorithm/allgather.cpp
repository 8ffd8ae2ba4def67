// SPDX-License-Identifier: Apache-2.0
//
// Allgather, of blocks of equal or different lengths. Every rank's block streams through the rank's
// in slot, from which its neighbours copy it, or they copy it straight from the rank's buffer
// (straight.hpp). Between nodes, rail r of R rails carries the blocks
// of local ranks r, r + R, r + 2R, ... It delivers them into the out slots of the other nodes, at
// place x for rank x. So all blocks are carried, also if nodes have different numbers of ranks.
//
// Cost: see swap.hpp. Chunks shrink with the number of ranks, because a slot must hold the blocks
// of all ranks. The longest block decides the number of chunks.

#include "collectives/algorithm/blocks.hpp"
#include "collectives/algorithm/operation.hpp"
#include "collectives/algorithm/straight.hpp"
#include "collectives/algorithm/swap.hpp"
#include "collectives/reduce/copy.hpp"

namespace batchai::coll {
namespace {

class Allgather final : public Straight {
  public:
    using Straight::Straight;

    bool takes(const Call& call) const override { return call.signature.kind == Kind::allgather; }

  protected:
    std::uint64_t plan() override;
    void copy_in(std::uint64_t k) override;
    bool can_work(std::uint64_t k) override;
    Exchange* work(std::uint64_t k) override;
    bool can_copy_out(std::uint64_t k) override;
    void copy_out(std::uint64_t k) override;
    std::size_t sent(const Call& call) const override;
    std::size_t total(const Call& call) const override;
    std::size_t longest() const override { return blocks_.longest(); }
    void take(std::size_t per_piece, std::uint64_t piece) override;

  private:
    // The bytes of chunk k of a rank's block, as a range of the receive buffer.
    Range chunk(int rank, std::uint64_t k) const { return blocks_.chunk(rank, per_chunk_, k); }
    // The place of a rank's chunk in this node's memory.
    std::byte* place(int rank, std::uint64_t k) const;

    Blocks blocks_;  // in bytes
    std::size_t per_chunk_ = 0;
    std::array<Swap, kSlots> swaps_;
};

}  // namespace

std::uint64_t Allgather::plan() {
    const int ranks = topology().size;
    const std::size_t room = node().slot_bytes(), element = type_size(call_.signature.type);
    blocks_.set(ranks, call_.counts, call_.signature.count, element);
    streaming_ = blocks_.offset(ranks) >= kStreamFrom;
    per_chunk_ = topology().nodes() == 1 ? room : room / static_cast<std::size_t>(ranks);
    return std::max<std::uint64_t>(1, chunks_of(blocks_.longest(), per_chunk_));
}

std::byte* Allgather::place(int rank, std::uint64_t k) const {
    if (topology().node_of[rank] == topology().node()) {
        return node().in_slot(topology().local_of[rank], at(k));
    }
    return node().out_slot(at(k)) + static_cast<std::size_t>(rank) * per_chunk_;
}

void Allgather::copy_in(std::uint64_t k) {
    const Range own = chunk(topology().rank, k);
    const std::byte* from = call_.send + (own.begin - blocks_.offset(topology().rank));
    if (own.size() > 0) copy_for_others(node().in_slot(node().rank(), at(k)), from, own.size());
}

bool Allgather::can_work(std::uint64_t k) {
    return context_.wire == nullptr || node().all_copied(at(k));
}

Exchange* Allgather::work(std::uint64_t k) {
    if (context_.wire == nullptr) return nullptr;
    const int me = topology().node(), nodes = topology().nodes();
    Swap& swap = swaps_[slot(at(k))];
    swap.start(*context_.wire, tag(), slot(at(k)));
    for (int i = 1; i < nodes; ++i) {
        const int from = (me + nodes - i) % nodes, to = (me + i) % nodes;
        for_served(
            from, [&](int rank) { swap.add_receive(from, place(rank, k), chunk(rank, k).size()); });
        for_served(me, [&](int rank) { swap.add_send(to, place(rank, k), chunk(rank, k).size()); });
    }
    return &swap;
}

bool Allgather::can_copy_out(std::uint64_t k) {
    return node().all_copied(at(k)) &&
           (topology().nodes() == 1 || all_reduced(k, topology().rails()));
}

void Allgather::copy_out(std::uint64_t k) {
    for (int rank = 0; rank < topology().size; ++rank) {
        const Range part = chunk(rank, k);
        const std::byte* from = place(rank, k);
        if (rank == topology().rank) from = call_.send + (part.begin - blocks_.offset(rank));
        if (part.size() == 0 || from == call_.receive + part.begin) continue;
        copy_bytes(call_.receive + part.begin, from, part.size(), streaming_);
    }
}

std::size_t Allgather::sent(const Call& call) const {
    const std::size_t count =
        call.counts.empty() ? call.signature.count : call.counts[topology().rank];
    return count * type_size(call.signature.type);
}

// With lengths of their own, the signature counts the elements of all blocks.
std::size_t Allgather::total(const Call& call) const {
    const std::size_t bytes = bytes_of(call.signature);
    return call.counts.empty() ? bytes * static_cast<std::size_t>(topology().size) : bytes;
}

void Allgather::take(std::size_t per_piece, std::uint64_t piece) {
    const int ranks = node().size();
    for (int i = 0; i < ranks; ++i) {
        const int source = (node().rank() + i) % ranks;  // not all from the same rank at once
        const Range part = blocks_.chunk(source, per_piece, piece);
        copy_from(source, part.begin - blocks_.offset(source), call_.receive + part.begin,
                  part.size());
    }
}

std::unique_ptr<Operation> make_allgather(Context& context) {
    return std::make_unique<Allgather>(context);
}

}  // namespace batchai::coll
