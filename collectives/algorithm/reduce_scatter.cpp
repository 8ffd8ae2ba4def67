// SPDX-License-Identifier: Apache-2.0
//
// Reduce-scatter, of blocks of equal or different lengths: rank r gets the reduction of all ranks'
// block r. A chunk in a slot holds a piece of every block, rank r's at place r.
//
// On one node every rank combines its pieces from the in slots, straight into its receive buffer.
// Between nodes, rail k works for local ranks k, k + R, k + 2R, ... (R rails) of every node: it
// combines its node's pieces for them, in the out slot, and sends them to its counterparts. It then
// combines their pieces for its own node's ranks, in the canonical tree's order.
//
// Cost for S bytes of all blocks, N nodes, R rails: the larger of (2 + 1/G) S / Bi in the node and
// a + (N-1)/N S / (R Be) between the nodes, which is the lower bound (see swap.hpp).

#include "collectives/algorithm/blocks.hpp"
#include "collectives/algorithm/operation.hpp"
#include "collectives/algorithm/pipeline.hpp"
#include "collectives/algorithm/swap.hpp"
#include "collectives/reduce/copy.hpp"
#include "collectives/reduce/tree.hpp"

namespace batchai::coll {
namespace {

class ReduceScatter final : public Pipeline {
  public:
    explicit ReduceScatter(Context& context);

    bool takes(const Call& call) const override {
        return call.signature.kind == Kind::reduce_scatter;
    }

  protected:
    std::uint64_t plan() override;
    void copy_in(std::uint64_t k) override;
    bool can_work(std::uint64_t k) override;
    Exchange* work(std::uint64_t k) override;
    void finish(std::uint64_t k) override;
    bool can_copy_out(std::uint64_t k) override;
    void copy_out(std::uint64_t k) override;

  private:
    // The bytes of chunk k of a rank's block, as a range of the send buffer.
    Range chunk(int rank, std::uint64_t k) const { return blocks_.chunk(rank, per_chunk_, k); }
    std::size_t place(int rank) const { return static_cast<std::size_t>(rank) * per_chunk_; }
    // Writes the node's partial result for a rank into `out`.
    void combine(int rank, std::uint64_t k, const Scale& scale, std::byte* out);

    Reduction reduction_;
    Blocks blocks_;  // in bytes
    std::size_t per_chunk_ = 0;
    std::vector<const void*> inputs_;         // by local rank
    std::vector<const std::byte*> partials_;  // by node
    std::array<Swap, kSlots> swaps_;
    // The pieces of other nodes: for each rank that this rail serves, one piece of each node.
    std::array<std::vector<std::byte>, kSlots> scratch_;
    std::vector<std::byte> tree_scratch_;
};

}  // namespace

ReduceScatter::ReduceScatter(Context& context)
    : Pipeline(context),
      inputs_(context.node.size()),
      partials_(context.topology.nodes()),
      tree_scratch_(tree_scratch_needed(context.topology.nodes())) {}

std::uint64_t ReduceScatter::plan() {
    const int ranks = topology().size;
    const Signature& signature = call_.signature;
    reduction_ = reduction_of(signature.type, signature.op);
    blocks_.set(ranks, call_.counts, signature.count, reduction_.element);
    const std::size_t share = node().slot_bytes() / static_cast<std::size_t>(ranks);
    per_chunk_ = share / kAlignment * kAlignment;
    if (context_.wire != nullptr) {
        std::size_t served = 0;
        for_served(topology().node(), [&](int) { ++served; });
        const auto nodes = static_cast<std::size_t>(topology().nodes());
        for (auto& scratch : scratch_) scratch.resize(served * nodes * per_chunk_);
    }
    return std::max<std::uint64_t>(1, chunks_of(blocks_.longest(), per_chunk_));
}

void ReduceScatter::copy_in(std::uint64_t k) {
    std::byte* to = node().in_slot(node().rank(), at(k));
    for (int rank = 0; rank < topology().size; ++rank) {
        const Range part = chunk(rank, k);
        if (part.size() == 0 || (rank == topology().rank && topology().nodes() == 1)) continue;
        copy_for_others(to + place(rank), call_.send + part.begin, part.size());
    }
}

bool ReduceScatter::can_work(std::uint64_t k) {
    return (topology().nodes() > 1 && context_.wire == nullptr) || node().all_copied(at(k));
}

void ReduceScatter::combine(int rank, std::uint64_t k, const Scale& scale, std::byte* out) {
    const Range part = chunk(rank, k);
    for (int r = 0; r < node().size(); ++r) inputs_[r] = node().in_slot(r, at(k)) + place(rank);
    if (topology().nodes() == 1) inputs_[node().rank()] = call_.send + part.begin;
    reduction_.combine(out, inputs_.data(), node().size(), part.size() / reduction_.element, scale);
}

Exchange* ReduceScatter::work(std::uint64_t k) {
    if (topology().nodes() == 1) {
        const Range own = chunk(topology().rank, k);
        if (own.size() == 0) return nullptr;
        std::byte* out = call_.receive + (own.begin - blocks_.offset(topology().rank));
        combine(topology().rank, k, scale(), out);
        return nullptr;
    }
    if (context_.wire == nullptr) return nullptr;
    const int me = topology().node(), nodes = topology().nodes();
    Swap& swap = swaps_[slot(at(k))];
    swap.start(*context_.wire, tag(), slot(at(k)));
    std::byte* out = node().out_slot(at(k));
    const Scale before = {.before = scale().before};
    for (int n = 0; n < nodes; ++n) {
        for_served(n, [&](int rank) { combine(rank, k, before, out + place(rank)); });
    }
    for (int i = 1; i < nodes; ++i) {
        const int from = (me + nodes - i) % nodes, to = (me + i) % nodes;
        std::byte* room =
            scratch_[slot(at(k))].data() + static_cast<std::size_t>(from) * per_chunk_;
        for_served(me, [&](int rank) {
            swap.add_receive(from, room, chunk(rank, k).size());
            room += static_cast<std::size_t>(nodes) * per_chunk_;
        });
        for_served(to,
                   [&](int rank) { swap.add_send(to, out + place(rank), chunk(rank, k).size()); });
    }
    return &swap;
}

void ReduceScatter::finish(std::uint64_t k) {
    if (context_.wire == nullptr) return;
    const Scale after = {.after = scale().after, .divisor = scale().divisor};
    std::byte* room = scratch_[slot(at(k))].data();
    for_served(topology().node(), [&](int rank) {
        std::byte* out = node().out_slot(at(k)) + place(rank);
        for (int n = 0; n < topology().nodes(); ++n) {
            partials_[n] = room + static_cast<std::size_t>(n) * per_chunk_;
        }
        room += static_cast<std::size_t>(topology().nodes()) * per_chunk_;
        partials_[topology().node()] = out;
        const std::size_t count = chunk(rank, k).size() / reduction_.element;
        combine_tree(reduction_, partials_, out, count, after, tree_scratch_.data());
    });
}

bool ReduceScatter::can_copy_out(std::uint64_t k) {
    return topology().nodes() == 1 || all_reduced(k, topology().rails());
}

void ReduceScatter::copy_out(std::uint64_t k) {
    const Range own = chunk(topology().rank, k);
    if (topology().nodes() == 1 || own.size() == 0) return;
    copy_bytes(call_.receive + (own.begin - blocks_.offset(topology().rank)),
               node().out_slot(at(k)) + place(topology().rank), own.size());
}

std::unique_ptr<Operation> make_reduce_scatter(Context& context) {
    return std::make_unique<ReduceScatter>(context);
}

}  // namespace batchai::coll
