// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/alltoall.hpp"

#include <fmt/format.h>

#include <cstring>

#include "collectives/reduce/copy.hpp"

namespace batchai::coll {

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

}  // namespace batchai::coll
