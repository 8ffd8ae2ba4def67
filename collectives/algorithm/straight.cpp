// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/straight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collectives/reduce/copy.hpp"

namespace batchai::coll {

std::span<const std::byte> Straight::beside(const Call& call) {
    static_assert(sizeof own_ <= Node::kInline);
    const std::size_t bytes = sent(call), all = total(call);
    may_be_straight_ = topology().nodes() == 1 && knows_places(call) && all >= kFrom;
    past_caches_ = all >= Faster::kPastCaches;
    is_straight_ = false;
    own_ = {{}, call.send, bytes > 0, false, false};
    if (!may_be_straight_) return std::as_bytes(std::span(&own_, 1));
    if (context_.regions != nullptr) own_.location = context_.regions->find(call.send, bytes);
    const bool is_placed = own_.location || !own_.sends;
    own_.prefers = prefers_in_place(all, gets_blocks(call));
    const Reader* reader = context_.reader;
    own_.is_readable = !is_placed && reader != nullptr &&
                       all / static_cast<std::size_t>(blocks()) >= reader->shortest() &&
                       (!own_.prefers || Reader::is_readable(call.send, bytes));
    return std::as_bytes(std::span(&own_, 1));
}

// Without it, this rank knows that all ranks use slots.
bool Straight::waits_for_all() const {
    if (!may_be_straight_) return false;
    const bool is_placed = own_.location || !own_.sends;
    return (past_caches_ && is_placed) || (own_.prefers && (is_placed || own_.is_readable));
}

std::uint64_t Straight::plan_with_all() {
    if (!may_be_straight_) return chunks();
    bool all_placed = true, all_reachable = true, all_prefer = true;
    for (int r = 0; r < node().size(); ++r) {
        Offer offer;
        std::memcpy(&offer, node().data(r, number_, sizeof offer), sizeof offer);
        const bool is_placed = offer.location || !offer.sends;
        all_placed = all_placed && is_placed;
        all_reachable = all_reachable && (is_placed || offer.is_readable);
        all_prefer = all_prefer && offer.prefers;
        sends_[r] = offer.location ? Source{context_.regions->at(r, offer.location), true}
                                   : Source{offer.address, r == node().rank()};
    }
    is_straight_ = (all_reachable && all_prefer) || (all_placed && past_caches_);
    std::optional<Faster::Way> other;
    if (all_reachable) other = all_placed ? Faster::in_place : Faster::reading;
    faster_.goes(other, is_straight_);
    if (!is_straight_) return chunks();
    const std::size_t read = kReadPieces / static_cast<std::size_t>(blocks());
    per_piece_ = all_placed ? kPiece : std::max(kPiece, read);
    pieces_ = chunks_of(longest(), per_piece_);
    taken_ = 0;
    return 1;
}

Step Straight::step_stages() {
    if (is_straight_) return step_straight();
    const Step step = Pipeline::step_stages();
    return is_straight_ ? step_straight() : step;
}

Step Straight::step_straight() {
    const bool moves = taken_ < pieces_;
    if (moves) {
        is_gone_ = false;
        take(per_piece_, taken_);
        if (failure().status != BATCHAI_COLL_OK) return Step::failed;
        if (is_gone_) return Step::idle;  // until the watchdog reports it
        ++taken_;
        if (context_.fault != nullptr) context_.fault->reach(number_, taken_);
        if (taken_ < pieces_) return Step::moved;
        if (streaming_) end_streaming();
        node().publish(node().copied(node().rank()), at(0));
        node().publish(node().reduced(node().rank()), at(0));
    }
    if (!all_reduced(0, node().size()) || !may_end()) return moves ? Step::moved : Step::idle;
    node().publish(node().taken(node().rank()), at(0));
    return Step::done;
}

void Straight::copy_from(int rank, std::size_t offset, std::byte* to, std::size_t bytes) {
    const Source& send = sends_[rank];
    const std::byte* from = send.address + offset;
    if (bytes == 0) return;
    if (send.is_here) {
        if (to != from) copy_bytes(to, from, bytes, streaming_);
        return;
    }
    if (is_gone_ || failure().status != BATCHAI_COLL_OK) return;
    const int error = context_.reader->read(rank, to, from, bytes);
    is_gone_ = error == ESRCH;
    if (error == 0 || is_gone_) return;
    const bool is_refused = error == EPERM || error == EACCES || error == ENOSYS;
    fail(
        {BATCHAI_COLL_ERR_SYSTEM,
         fmt::format("operation {}: rank {} cannot read the memory of rank {}: {}{}", number_,
                     topology().rank, topology().members[topology().node()][rank],
                     std::strerror(error), is_refused ? "; BATCHAI_COLL_READ=0 avoids that" : "")});
}

}  // namespace batchai::coll
