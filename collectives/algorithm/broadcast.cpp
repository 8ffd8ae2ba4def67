// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/broadcast.hpp"

#include "collectives/reduce/copy.hpp"

namespace batchai::coll {

std::uint64_t Broadcast::plan() {
    bytes_ = bytes_of(call_.signature);
    data_chunks_ = chunks_of(bytes_, node().slot_bytes());
    streaming_ = bytes_ >= kStreamFrom;
    local_root_ = local_root();
    const auto rails = static_cast<std::size_t>(topology().rails());
    if (topology().nodes() == 1) return data_chunks_;
    shape_ = Spread::shape_for(context_.planner.link(), topology().nodes(), bytes_ / rails,
                               node().slot_bytes() / rails);
    return data_chunks_ + 1;
}

void Broadcast::copy_in(std::uint64_t k) {
    if (node().rank() != local_root_ || is_barrier(k)) return;
    copy_for_others(node().in_slot(local_root_, at(k)), call_.send + chunk(k).begin,
                    chunk(k).size());
}

bool Broadcast::can_work(std::uint64_t k) {
    if (context_.wire == nullptr || local_root_ < 0 || is_barrier(k)) return true;
    return Node::reached(node().copied(local_root_), at(k));
}

Exchange* Broadcast::work(std::uint64_t k) {
    if (context_.wire == nullptr) return nullptr;
    if (is_barrier(k)) return node().rank() == 0 ? barrier(k) : nullptr;
    const Range own = part_of(chunk(k).size(), 1, node().rank(), topology().rails());
    if (own.size() == 0) return nullptr;
    std::byte* from = local_root_ < 0 ? node().out_slot(at(k)) : node().in_slot(local_root_, at(k));
    Spread& spread = spread_[slot(at(k))];
    spread.start(*context_.wire, tag(), slot(at(k)), topology().node(), topology().nodes(),
                 topology().node_of[call_.signature.root], shape_, from + own.begin, own.size());
    return &spread;
}

Exchange* Broadcast::barrier(std::uint64_t k) {
    barrier_.start(*context_.wire, tag(), slot(at(k)), topology().node(), topology().nodes(),
                   reduction_of(BATCHAI_COLL_INT32, BATCHAI_COLL_SUM), {}, nullptr, nullptr, 0);
    return &barrier_;
}

bool Broadcast::can_copy_out(std::uint64_t k) {
    if (is_barrier(k)) return all_reduced(k, 1);
    if (local_root_ >= 0) return Node::reached(node().copied(local_root_), at(k));
    return all_reduced(k, topology().rails());
}

void Broadcast::copy_out(std::uint64_t k) {
    if (is_barrier(k) || node().rank() == local_root_) return;
    const std::byte* from =
        local_root_ < 0 ? node().out_slot(at(k)) : node().in_slot(local_root_, at(k));
    copy_bytes(call_.receive + chunk(k).begin, from, chunk(k).size(), streaming_);
}

std::size_t Broadcast::sent(const Call& call) const {
    return call.signature.root == topology().rank ? bytes_of(call.signature) : 0;
}

void Broadcast::take(std::size_t per_piece, std::uint64_t piece) {
    if (node().rank() == local_root_) return;
    const Range part = chunk_of(bytes_, per_piece, piece);
    copy_from(local_root_, part.begin, call_.receive + part.begin, part.size());
}

}  // namespace batchai::coll
