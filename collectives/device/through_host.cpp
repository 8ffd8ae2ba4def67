// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/through_host.hpp"

#include <algorithm>

namespace batchai::coll {

sys::Result<std::unique_ptr<ThroughHost>> ThroughHost::create(Device& device, Orders& orders,
                                                              Engine& engine,
                                                              std::size_t chunk_bytes) {
    std::unique_ptr<ThroughHost> made(new ThroughHost(orders, engine, chunk_bytes));
    std::vector<Device::Event*> events{&made->started_, &made->ended_};
    for (Slot& slot : made->slots_) {
        const auto pinned = device.allocate_pinned(chunk_bytes);
        if (!pinned) return pinned.error();
        slot.pinned = *pinned;
        events.insert(events.end(), {&slot.out, &slot.in});
    }
    const std::vector streams{&made->out_, &made->in_};
    if (auto done = device.make(streams, events); !done) return done.error();
    return made;
}

void ThroughHost::begin(const DeviceCall& call) {
    const std::size_t element = type_size(call.type());
    call_ = call;
    first_ += chunks_;
    taken_ = begun_ = brought_ = 0;
    per_chunk_ = numbers_per_chunk(call.count(), element, kSlots, chunk_bytes_ / element);
    chunks_ = chunks_of(call.count(), per_chunk_);
    orders_.record(started_, call.stream);
    orders_.wait(out_, started_);
}

Step ThroughHost::step() {
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
    const Range range = bytes(taken_);
    orders_.wait(out_, slot.in);  // the last chunk in this slot was copied out
    orders_.copy(slot.pinned, call_.send + range.begin, range.size(), out_);
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
    Slot& slot = this->slot(begun_);
    Call call;
    call.signature = call_.signature;
    call.signature.count = numbers(begun_).size();
    call.send = call.receive = slot.pinned;
    slot.request = engine_.start(call);
    ++begun_;
    return true;
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
    const Range range = bytes(brought_);
    orders_.copy(call_.receive + range.begin, slot.pinned, range.size(), in_);
    orders_.record(slot.in, in_);
    ++brought_;
    return true;
}

}  // namespace batchai::coll
