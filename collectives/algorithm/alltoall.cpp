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

#include <fmt/format.h>

#include <cstring>

#include "collectives/algorithm/blocks.hpp"
#include "collectives/algorithm/operation.hpp"
#include "collectives/algorithm/straight.hpp"
#include "collectives/algorithm/swap.hpp"
#include "collectives/reduce/copy.hpp"

namespace batchai::coll {
namespace {

class Alltoall final : public Straight {
  public:
    explicit Alltoall(Context& context);

    bool takes(const Call& call) const override {
        const Signature& signature = call.signature;
        return signature.kind == Kind::alltoall || signature.kind == Kind::alltoallv;
    }

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

}  // namespace

Alltoall::Alltoall(Context& context) : Straight(context), position_(context.topology.size) {
    int position = 0;
    for (const std::vector<int>& ranks : context.topology.members) {
        before_.push_back(static_cast<std::size_t>(position));
        for (const int rank : ranks) position_[rank] = position++;
    }
}

std::uint64_t Alltoall::plan() {
    const Signature& signature = call_.signature;
    const auto ranks = static_cast<std::size_t>(topology().size);
    const std::size_t element = type_size(signature.type);
    send_.set(topology().size, call_.counts, signature.count, element);
    receive_.set(topology().size, call_.receive_counts, signature.count, element);
    streaming_ = receive_.offset(topology().size) >= kStreamFrom;
    const std::size_t longest =
        (call_.facts != nullptr ? call_.facts->longest : signature.count) * element;
    const int beyond = std::max(1, topology().largest_node() - topology().rails());
    const std::size_t room = node().slot_bytes() / ranks / static_cast<std::size_t>(beyond);
    // Every message has whole strides, also of a short last chunk. Chunks of about equal length
    // send least.
    const std::size_t most = room / kHeader * kHeader - kHeader;
    const std::uint64_t chunks = std::max<std::uint64_t>(1, chunks_of(longest, most));
    const std::size_t piece = (longest + chunks - 1) / chunks;
    per_chunk_ = (piece + kHeader - 1) / kHeader * kHeader;
    stride_ = kHeader + per_chunk_;
    if (context_.wire != nullptr) {
        const int me = topology().node();
        std::size_t out = 0, in = 0;
        for (int n = 0; n < topology().nodes(); ++n) {
            out += message(me, n);
            in += message(n, me);
        }
        for (auto& buffer : outgoing_) buffer.resize(std::max(buffer.size(), out));
        for (auto& buffer : incoming_) buffer.resize(std::max(buffer.size(), in));
    }
    return chunks;
}

std::size_t Alltoall::served(int n) const {
    const std::size_t rail = node().rank(), ranks = topology().members[n].size();
    return ranks <= rail ? 0 : (ranks - rail - 1) / topology().rails() + 1;
}

std::size_t Alltoall::message(int from, int to) const {
    return from == to ? 0 : served(to) * topology().members[from].size() * stride_;
}

std::byte* Alltoall::received(int from, int local, std::uint64_t k) {
    const int me = topology().node();
    // Counts the ranks on the nodes before it. This node's own ranks send no message.
    const std::size_t before = before_[from] - (from > me ? topology().members[me].size() : 0);
    const std::size_t dest = local / topology().rails();
    return incoming_[slot(at(k))].data() +
           (served(me) * before + dest * topology().members[from].size()) * stride_;
}

std::byte* Alltoall::handed_on(int local, std::uint64_t k) const {
    const auto ranks = static_cast<std::size_t>(topology().size);
    return node().out_slot(at(k)) +
           static_cast<std::size_t>(local - topology().rails()) * ranks * stride_;
}

void Alltoall::copy_in(std::uint64_t k) {
    std::byte* to = node().in_slot(node().rank(), at(k));
    for (int rank = 0; rank < topology().size; ++rank) {
        if (rank == topology().rank) continue;
        const std::uint64_t whole = send_.count(rank);
        const Range part = send_.chunk(rank, per_chunk_, k);
        std::memcpy(to + place(rank), &whole, kHeader);
        if (part.size() == 0) continue;
        copy_for_others(to + place(rank) + kHeader, call_.send + part.begin, part.size());
    }
}

bool Alltoall::can_work(std::uint64_t k) {
    return context_.wire == nullptr || node().all_copied(at(k));
}

Exchange* Alltoall::work(std::uint64_t k) {
    if (context_.wire == nullptr) return nullptr;
    const int me = topology().node(), nodes = topology().nodes();
    Swap& swap = swaps_[slot(at(k))];
    swap.start(*context_.wire, tag(), slot(at(k)));
    std::byte* out = outgoing_[slot(at(k))].data();
    for (int i = 1; i < nodes; ++i) {
        const int from = (me + nodes - i) % nodes, to = (me + i) % nodes;
        swap.add_receive(from, received(from, node().rank(), k), message(from, me));
        swap.add_send(to, out, message(me, to));
        for_served(to, [&](int rank) {
            for (int s = 0; s < node().size(); ++s, out += stride_) {
                copy_bytes(out, node().in_slot(s, at(k)) + place(rank), stride_);
            }
        });
    }
    return &swap;
}

void Alltoall::finish(std::uint64_t k) {
    if (context_.wire == nullptr) return;
    for (int d = node().rank() + topology().rails(); d < node().size(); d += topology().rails()) {
        for (int n = 0; n < topology().nodes(); ++n) {
            if (n == topology().node()) continue;
            copy_bytes(handed_on(d, k) + before_[n] * stride_, received(n, d, k),
                       topology().members[n].size() * stride_);
        }
    }
}

bool Alltoall::can_copy_out(std::uint64_t k) {
    const int rail = node().rank() % topology().rails();
    return node().all_copied(at(k)) &&
           (topology().nodes() == 1 || Node::reached(node().reduced(rail), at(k)));
}

void Alltoall::copy_out(std::uint64_t k) {
    const int me = topology().rank;
    for (int n = 0; n < topology().nodes(); ++n) {
        const std::vector<int>& ranks = topology().members[n];
        if (n == topology().node()) {
            for (int s = 0; s < node().size(); ++s) {
                if (ranks[s] != me) deliver(ranks[s], node().in_slot(s, at(k)) + place(me), k);
            }
            continue;
        }
        const std::byte* piece = context_.wire != nullptr
                                     ? received(n, node().rank(), k)
                                     : handed_on(node().rank(), k) + before_[n] * stride_;
        for (const int source : ranks) {
            deliver(source, piece, k);
            piece += stride_;
        }
    }
    const Range own = send_.chunk(me, per_chunk_, k), to = receive_.chunk(me, per_chunk_, k);
    if (own.size() > 0) {
        copy_bytes(call_.receive + to.begin, call_.send + own.begin, own.size(), streaming_);
    }
}

std::size_t Alltoall::sent(const Call& call) const {
    return bytes_of(call.signature) * static_cast<std::size_t>(topology().size);
}

void Alltoall::take(std::size_t per_piece, std::uint64_t piece) {
    const int me = node().rank(), ranks = node().size();
    for (int i = 0; i < ranks; ++i) {
        const int source = (me + i) % ranks;  // not all from the same rank at once
        const Range to = receive_.chunk(source, per_piece, piece);
        const Range from = send_.chunk(me, per_piece, piece);
        copy_from(source, from.begin, call_.receive + to.begin, to.size());
    }
}

void Alltoall::deliver(int source, const std::byte* piece, std::uint64_t k) {
    std::uint64_t whole = 0;
    std::memcpy(&whole, piece, kHeader);
    if (whole != receive_.count(source)) {
        const std::size_t element = type_size(call_.signature.type);
        return fail({BATCHAI_COLL_ERR_MISMATCH,
                     fmt::format("operation {}: ranks disagree: rank {} sends {} elements to rank "
                                 "{}, which expects {}",
                                 number_, source, whole / element, topology().rank,
                                 receive_.count(source) / element)});
    }
    const Range part = receive_.chunk(source, per_chunk_, k);
    if (part.size() == 0) return;
    copy_bytes(call_.receive + part.begin, piece + kHeader, part.size(), streaming_);
}

std::unique_ptr<Operation> make_alltoall(Context& context) {
    return std::make_unique<Alltoall>(context);
}

}  // namespace batchai::coll
