// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/through_host.hpp"

#include <algorithm>

namespace batchai::coll {

sys::Result<std::unique_ptr<ThroughHost>> ThroughHost::create(Device& device, Orders& orders,
                                                              Engine& engine, int rank, int ranks,
                                                              std::size_t chunk_bytes) {
    // A number of each rank fits, given and got.
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
    const bool is_root = call.root == rank_;
    const bool gives_all = call.kind == Kind::reduce_scatter || call.kind == Kind::alltoall;
    const bool gets_all = call.kind == Kind::allgather || call.kind == Kind::alltoall;
    call_ = call;
    gives_ = call.kind == Kind::broadcast && !is_root ? 0 : gives_all ? ranks_ : 1;
    gets_ = call.kind == Kind::reduce && !is_root ? 0 : gets_all ? ranks_ : 1;
    if (call.kind == Kind::broadcast && is_root) gets_ = 0;
    apart_ = gives_all || gets_all;
    const std::size_t element = type_size(call.type);
    const std::size_t room = apart_ ? chunk_bytes_ / 2 / ranks_ : chunk_bytes_;
    per_chunk_ = numbers_per_chunk(call.count, element, kSlots, room / element);
    first_ += chunks_;
    chunks_ = chunks_of(call.count, per_chunk_);
    taken_ = begun_ = brought_ = 0;
    orders_.record(started_, call.stream);
    orders_.wait(out_, started_);
}

Step ThroughHost::step() {
    const bool took = take_out(), began = start(), brought = bring_in();
    if (failure_.status != BATCHAI_COLL_OK) return Step::failed;
    if (const auto& error = orders_.error()) {
        failure_ = {BATCHAI_COLL_ERR_SYSTEM, error->message};
        return Step::failed;
    }
    if (brought_ < chunks_) return took || began || brought ? Step::moved : Step::idle;
    orders_.record(ended_, in_);
    orders_.wait(call_.stream, ended_);
    return Step::done;
}

bool ThroughHost::take_out() {
    if (taken_ == std::min<std::uint64_t>(chunks_, brought_ + kSlots)) return false;
    Slot& slot = this->slot(taken_);
    const Range range = chunk(taken_++);
    const std::size_t element = type_size(call_.type);
    orders_.wait(out_, slot.in);  // the last chunk has left the slot
    for (std::size_t block = 0; block < gives_; ++block) {
        orders_.copy(slot.pinned + block * range.size() * element,
                     call_.send + (block * call_.count + range.begin) * element,
                     range.size() * element, out_);
    }
    orders_.record(slot.out, out_);
    return true;
}

bool ThroughHost::start() {
    if (begun_ == taken_ || !orders_.is_done(slot(begun_).out) || orders_.error()) return false;
    if (engine_.failure().status != BATCHAI_COLL_OK) {
        failure_ = engine_.failure();
        return true;
    }
    slot(begun_).request = engine_.start(operation(begun_));
    ++begun_;
    return true;
}

Call ThroughHost::operation(std::uint64_t k) {
    Call call;
    call.signature.kind = call_.kind;
    call.signature.count = chunk(k).size();
    call.signature.type = static_cast<std::uint8_t>(call_.type);
    call.signature.op = static_cast<std::uint8_t>(call_.op);
    call.signature.root = call_.root;
    call.signature.before = call_.before;
    call.signature.after = call_.after;
    call.send = slot(k).pinned;
    call.receive = result(slot(k).pinned);
    return call;
}

bool ThroughHost::bring_in() {
    if (brought_ == begun_) return false;
    Slot& slot = this->slot(brought_);
    const auto status = engine_.test(slot.request);
    if (status == BATCHAI_COLL_IN_PROGRESS) return engine_.has_moved();
    if (status != BATCHAI_COLL_OK) {
        failure_ = engine_.failure();
        return true;
    }
    const Range range = chunk(brought_++);
    const std::size_t element = type_size(call_.type);
    for (std::size_t block = 0; block < gets_; ++block) {
        orders_.copy(call_.receive + (block * call_.count + range.begin) * element,
                     result(slot.pinned) + block * range.size() * element, range.size() * element,
                     in_);
    }
    orders_.record(slot.in, in_);
    return true;
}

}  // namespace batchai::coll
