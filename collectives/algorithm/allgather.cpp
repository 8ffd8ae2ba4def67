// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/allgather.hpp"

#include <cstring>

namespace batchai::coll {

std::uint64_t Allgather::plan() {
    bytes_ = bytes_of(call_.signature);
    const auto ranks = static_cast<std::size_t>(topology().size);
    const std::size_t room = node().slot_bytes();
    per_chunk_ = topology().nodes() == 1 ? room : room / ranks;
    return chunks_of(bytes_, per_chunk_);
}

std::byte* Allgather::place(int rank, std::uint64_t k) const {
    if (topology().node_of[rank] == topology().node()) {
        return node().in_slot(topology().local_of[rank], at(k));
    }
    return node().out_slot(at(k)) + static_cast<std::size_t>(rank) * per_chunk_;
}

void Allgather::copy_in(std::uint64_t k) {
    std::memcpy(node().in_slot(node().rank(), at(k)), call_.send + chunk(k).begin, chunk(k).size());
}

bool Allgather::can_work(std::uint64_t k) {
    return context_.wire == nullptr || node().all_copied(at(k));
}

Exchange* Allgather::work(std::uint64_t k) {
    if (context_.wire == nullptr) return nullptr;
    SwapAll& swap = swaps_[slot(at(k))];
    swap.start(*context_.wire, tag(), slot(at(k)), topology().node(), topology().nodes(),
               chunk(k).size());
    for (int n = 0; n < topology().nodes(); ++n) {
        const std::vector<int>& ranks = topology().members[n];
        for (std::size_t r = node().rank(); r < ranks.size(); r += topology().rails()) {
            if (n == topology().node()) {
                swap.add_own(place(ranks[r], k));
            } else {
                swap.add_theirs(n, place(ranks[r], k));
            }
        }
    }
    return &swap;
}

bool Allgather::can_copy_out(std::uint64_t k) {
    return node().all_copied(at(k)) &&
           (topology().nodes() == 1 || all_reduced(k, topology().rails()));
}

void Allgather::copy_out(std::uint64_t k) {
    for (int rank = 0; rank < topology().size; ++rank) {
        std::memcpy(call_.receive + static_cast<std::size_t>(rank) * bytes_ + chunk(k).begin,
                    place(rank, k), chunk(k).size());
    }
}

}  // namespace batchai::coll
