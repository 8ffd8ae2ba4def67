// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/through_host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace batchai::coll {

sys::Result<std::unique_ptr<ThroughHost>> ThroughHost::create(Device& device, Orders& orders,
                                                              Engine& engine, int rank, int ranks,
                                                              std::size_t chunk_bytes) {
    // Half of a chunk must hold one number of each rank, for sending and for receiving.
    const std::size_t least = 2 * sizeof(double) * static_cast<std::size_t>(ranks);
    std::unique_ptr<ThroughHost> made(
        new ThroughHost(orders, engine, rank, ranks, std::max(chunk_bytes, least)));
    std::vector<Device::Event*> events{&made->started_, &made->ended_};
    for (Slot& slot : made->slots_) {
        const auto pinned = device.allocate_pinned(made->chunk_bytes_);
        if (!pinned) return pinned.error();
        slot.pinned = *pinned;
        events.insert(events.end(), {&slot.out, &slot.in});
    }
    const std::vector streams{&made->out_, &made->in_};
    if (auto done = device.make(streams, events); !done) return done.error();
    return made;
}

void ThroughHost::begin(const DeviceCall& call) {
    call_ = call;
    first_ += chunks_;
    chunks_ = taken_ = begun_ = brought_ = 0;
    lay_out_blocks();
    orders_.record(started_, call.stream);
    orders_.wait(out_, started_);
    if (call.signature.kind == Kind::alltoallv) {
        ask_for_longest();
    } else {
        divide(longest_known());
    }
}

void ThroughHost::lay_out_blocks() {
    const Kind kind = call_.signature.kind;
    const bool is_root = call_.signature.root == rank_;
    const bool exchanges = kind == Kind::alltoall || kind == Kind::alltoallv;
    const bool gives_all = kind == Kind::reduce_scatter || exchanges;
    const bool gets_all = kind == Kind::allgather || exchanges;
    const bool gives = kind != Kind::broadcast || is_root;
    const bool gets = kind == Kind::broadcast ? !is_root : kind != Kind::reduce || is_root;
    const std::size_t own =
        call_.counts.empty() ? call_.count() : call_.counts[static_cast<std::size_t>(rank_)];
    const auto set = [&](Blocks& blocks, bool any, bool all, std::span<const std::size_t> counts) {
        if (all) {
            blocks.set(ranks_, counts, call_.count(), element());
        } else {
            blocks.set(any ? 1 : 0, {}, own, element());
        }
    };
    set(given_, gives, gives_all, call_.counts);
    set(got_, gets, gets_all, kind == Kind::alltoallv ? call_.receive_counts : call_.counts);
    apart_ = gives_all || gets_all;
}

// The longest block that this rank knows, in numbers.
std::size_t ThroughHost::longest_known() const {
    std::size_t longest = call_.counts.empty() ? call_.count() : 0;
    for (const auto counts : {call_.counts, call_.receive_counts}) {
        for (const std::size_t count : counts) longest = std::max(longest, count);
    }
    return longest;
}

void ThroughHost::ask_for_longest() {
    failure_ = engine_.failure();
    if (failure_.status != BATCHAI_COLL_OK) return;
    longest_ = longest_known();
    Call call;
    call.signature.kind = Kind::allreduce;
    call.signature.count = 1;
    call.signature.type = BATCHAI_COLL_INT64;
    call.signature.op = BATCHAI_COLL_MAX;
    call.receive = reinterpret_cast<std::byte*>(&longest_);
    call.send = call.receive;
    asked_ = engine_.start(call);
}

// True: the answer is still pending.
bool ThroughHost::find_longest() {
    if (asked_ == nullptr) return false;
    const auto status = engine_.test(asked_);
    if (status == BATCHAI_COLL_IN_PROGRESS) return true;
    asked_ = nullptr;
    if (status == BATCHAI_COLL_OK) {
        divide(longest_);
    } else {
        failure_ = engine_.failure();
    }
    return false;
}

void ThroughHost::divide(std::size_t longest) {
    const std::size_t room =
        apart_ ? chunk_bytes_ / 2 / static_cast<std::size_t>(ranks_) : chunk_bytes_;
    per_chunk_ = numbers_per_chunk(longest, element(), kSlots, room / element());
    chunks_ = chunks_of(longest, per_chunk_);
}

Step ThroughHost::step() {
    if (find_longest()) return engine_.has_moved() ? Step::moved : Step::idle;
    const bool took = take_out(), began = start(), brought = bring_in();
    if (failure_.status != BATCHAI_COLL_OK || orders_.error()) return Step::failed;
    if (brought_ < chunks_) return took || began || brought ? Step::moved : Step::idle;
    orders_.record(ended_, in_);
    orders_.wait(call_.stream, ended_);
    return Step::done;
}

bool ThroughHost::take_out() {
    if (taken_ == std::min<std::uint64_t>(chunks_, brought_ + kSlots)) return false;
    Slot& slot = this->slot(taken_);
    orders_.wait(out_, slot.in);  // the last chunk in this slot was copied out
    std::byte* to = slot.pinned;
    for (int block = 0; block < given_.ranks(); ++block) {
        const Range range = piece(given_, block, taken_);
        orders_.copy(to, call_.send + range.begin, range.size(), out_);
        to += range.size();
    }
    orders_.record(slot.out, out_);
    ++taken_;
    return true;
}

bool ThroughHost::start() {
    if (begun_ == taken_ || !orders_.is_done(slot(begun_).out) || orders_.error()) return false;
    if (engine_.failure().status != BATCHAI_COLL_OK) {
        if (brought_ < begun_) return false;  // bring_in() reports the failed chunk first
        failure_ = engine_.failure();
        return true;
    }
    slot(begun_).request = engine_.start(operation(begun_));
    ++begun_;
    return true;
}

Call ThroughHost::operation(std::uint64_t k) {
    Call call;
    call.signature = call_.signature;
    if (call_.counts.empty()) {
        call.signature.count = chunk_of(call_.count(), per_chunk_, k).size();
    } else {
        cut_blocks(k);
        call.counts = pieces_;
        if (call_.signature.kind == Kind::alltoallv) {
            call.receive_counts = received_pieces_;
        } else {
            call.signature.count = std::accumulate(pieces_.begin(), pieces_.end(), std::size_t{0});
        }
    }
    call.send = slot(k).pinned;
    call.receive = result(slot(k).pinned);
    return call;
}

// Sets the counts of the chunk's pieces of blocks of different lengths.
void ThroughHost::cut_blocks(std::uint64_t k) {
    const auto cut = [&](const Blocks& blocks, std::vector<std::size_t>& pieces) {
        pieces.clear();
        for (int block = 0; block < blocks.ranks(); ++block) {
            pieces.push_back(piece(blocks, block, k).size() / element());
        }
    };
    cut(call_.signature.kind == Kind::allgather ? got_ : given_, pieces_);
    if (call_.signature.kind == Kind::alltoallv) cut(got_, received_pieces_);
}

bool ThroughHost::bring_in() {
    if (brought_ == begun_) return false;
    Slot& slot = this->slot(brought_);
    const auto status = engine_.test(slot.request);
    if (status == BATCHAI_COLL_IN_PROGRESS) return engine_.has_moved();
    if (status != BATCHAI_COLL_OK) {
        failure_ = engine_.failure();
        if (status == BATCHAI_COLL_ERR_MISMATCH && brought_ > 0) {
            failure_.sentence += fmt::format(", after {} of the block", brought_ * per_chunk_);
        }
        return true;
    }
    const std::byte* from = result(slot.pinned);
    for (int block = 0; block < got_.ranks(); ++block) {
        const Range range = piece(got_, block, brought_);
        orders_.copy(call_.receive + range.begin, from, range.size(), in_);
        from += range.size();
    }
    orders_.record(slot.in, in_);
    ++brought_;
    return true;
}

}  // namespace batchai::coll
