// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/pinned_rail.hpp"

namespace batchai::coll {

sys::Result<std::unique_ptr<PinnedRail>> PinnedRail::create(Device& device, Orders& orders,
                                                            Engine& wire, std::size_t part_bytes) {
    std::unique_ptr<PinnedRail> made(new PinnedRail(orders, wire));
    std::vector<Device::Event*> events;
    for (Slot& slot : made->slots_) {
        const auto pinned = device.allocate_pinned(part_bytes);
        if (!pinned) return pinned.error();
        slot.pinned = *pinned;
        events.insert(events.end(), {&slot.ready, &slot.out, &slot.in});
    }
    if (auto done = device.make({&made->out_, &made->in_}, events); !done) return done.error();
    return made;
}

void PinnedRail::take(const Part& part, Device::Stream stream) {
    Slot& slot = this->slot(taken_++);
    slot.part = part;
    orders_.record(slot.ready, stream);
    orders_.wait(out_, slot.ready);
    orders_.copy(slot.pinned, part.place, part.count * type_size(part.type), out_);
    orders_.record(slot.out, out_);
}

bool PinnedRail::step() {
    const bool sent = send_next();
    return receive_next() || sent;
}

// With a divisor, the device scales the result afterwards. Otherwise the wire's engine multiplies,
// without an extra rounding.
bool PinnedRail::send_next() {
    if (sent_ == taken_ || !orders_.is_done(slot(sent_).out) || orders_.error()) return false;
    if (wire_.failure().status != BATCHAI_COLL_OK) {
        failure_ = wire_.failure();
        return true;
    }
    Slot& slot = this->slot(sent_++);
    Call call;
    call.signature.kind = Kind::allreduce;
    call.signature.count = slot.part.count;
    call.signature.type = static_cast<std::uint8_t>(slot.part.type);
    call.signature.op = static_cast<std::uint8_t>(slot.part.op);
    if (slot.part.divisor == 1) call.signature.after = slot.part.after;
    call.send = call.receive = slot.pinned;
    slot.request = wire_.start(call);
    return true;
}

bool PinnedRail::receive_next() {
    if (returned_ == sent_ || failure_.status != BATCHAI_COLL_OK) return false;
    Slot& slot = this->slot(returned_);
    const auto status = wire_.test(slot.request);
    if (status == BATCHAI_COLL_IN_PROGRESS) return wire_.has_moved();
    if (status != BATCHAI_COLL_OK) {
        failure_ = wire_.failure();
        return true;
    }
    bring_in(slot);
    ++returned_;
    return true;
}

void PinnedRail::bring_in(Slot& slot) {
    const Part& part = slot.part;
    orders_.copy(part.place, slot.pinned, part.count * type_size(part.type), in_);
    if (part.divisor > 1) {
        auto average = Device::Reduction::of_one(part.place, part.place, part.count, part.type);
        average.after = part.after;
        average.divisor = part.divisor;
        orders_.reduce(average, in_);
    }
    orders_.record(slot.in, in_);
}

}  // namespace batchai::coll
