// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/split_rails.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/veto.hpp"

namespace batchai::coll {

sys::Result<std::unique_ptr<SplitRails>> SplitRails::create(const Parts& parts) {
    std::unique_ptr<SplitRails> made(new SplitRails(parts));
    Device& device = parts.device;
    std::vector<Device::Event*> events{&made->started_, &made->ended_};
    for (Slot& slot : made->slots_) {
        events.insert(events.end(), {&slot.reduced, &slot.out, &slot.in});
        if (parts.wire == nullptr) continue;
        const auto pinned = device.allocate_pinned(parts.exchange.part_bytes());
        if (!pinned) return pinned.error();
        slot.pinned = *pinned;
    }
    const std::vector streams{&made->out_, &made->in_};
    if (auto done = device.make(streams, events); !done) return done.error();
    return made;
}

std::string SplitRails::name() const {
    const std::string inside = fmt::format("{} inside nodes", parts_.exchange.name());
    return parts_.wire == nullptr ? inside : "split rails, " + inside;
}

void SplitRails::begin(const DeviceCall& call) {
    const std::size_t element = type_size(call.type);
    per_chunk_ =
        numbers_per_chunk(call.count, element, kSlots, parts_.exchange.chunk_bytes() / element);
    call_ = call;
    divisor_ = 1;
    if (call.op == BATCHAI_COLL_AVERAGE) {
        call_.op = BATCHAI_COLL_SUM;
        divisor_ = parts_.ranks;
    }
    first_ += chunks_;
    chunks_ = chunks_of(call.count, per_chunk_);
    reduced_ = sent_ = received_ = gathered_ = 0;
    parts_.orders.record(started_, call.stream);
    parts_.orders.wait(parts_.exchange.stream(), started_);
}

NodeExchange::Chunk SplitRails::chunk(std::uint64_t k) const {
    const Range range = chunk_of(call_.count, per_chunk_, k);
    const std::size_t offset = range.begin * type_size(call_.type);
    NodeExchange::Chunk chunk{first_ + k,   call_.send + offset, call_.receive + offset,
                              range.size(), call_.type,          call_.op,
                              call_.before};
    if (parts_.wire == nullptr) {
        chunk.after = call_.after;
        chunk.divisor = divisor_;
    }
    return chunk;
}

Step SplitRails::step() {
    bool moved = order_next();
    if (parts_.wire == nullptr) {
        received_ = reduced_;
    } else {
        moved |= send_next();
        moved |= receive_next();
    }
    if (failure_.status != BATCHAI_COLL_OK || parts_.orders.error()) return Step::failed;
    if (gathered_ == chunks_) return finish();
    return moved ? Step::moved : Step::idle;
}

// The next order on the exchange's stream, if it can be given.
bool SplitRails::order_next() {
    if (reduced_ < std::min<std::uint64_t>(chunks_, gathered_ + kSlots)) {
        if (!parts_.exchange.reduce(chunk(reduced_))) return false;
        if (parts_.wire != nullptr) take_out(reduced_);
        ++reduced_;
        return true;
    }
    if (gathered_ == received_) return false;
    const Device::Event after = parts_.wire == nullptr ? nullptr : slot(gathered_).in;
    if (!parts_.exchange.gather(chunk(gathered_), after)) return false;
    ++gathered_;
    return true;
}

// The slot is free: the chunk that had it has been gathered before this one was reduced.
void SplitRails::take_out(std::uint64_t k) {
    Slot& slot = this->slot(k);
    const NodeExchange::Chunk chunk = this->chunk(k);
    Orders& orders = parts_.orders;
    orders.record(slot.reduced, parts_.exchange.stream());
    orders.wait(out_, slot.reduced);
    orders.copy(slot.pinned, parts_.exchange.place(chunk),
                parts_.exchange.part(chunk).size() * type_size(chunk.type), out_);
    orders.record(slot.out, out_);
}

// Numbers of 16 bits are averaged on the wire, before they are rounded; others on the device, where
// a division is one.
bool SplitRails::averages_at_the_end() const {
    return divisor_ > 1 && float_format(call_.type).bytes != 2;
}

bool SplitRails::send_next() {
    if (sent_ == reduced_ || !parts_.orders.is_done(slot(sent_).out)) return false;
    if (parts_.orders.error()) return false;
    if (parts_.wire->failure().status != BATCHAI_COLL_OK) {
        failure_ = parts_.wire->failure();
        return true;
    }
    const NodeExchange::Chunk chunk = this->chunk(sent_);
    Slot& slot = this->slot(sent_++);
    Call call;
    call.signature.kind = Kind::allreduce;
    call.signature.count = parts_.exchange.part(chunk).size();
    call.signature.type = static_cast<std::uint8_t>(chunk.type);
    call.signature.op = static_cast<std::uint8_t>(chunk.op);
    if (!averages_at_the_end()) call.signature.after = call_.after / divisor_;
    call.send = call.receive = slot.pinned;
    slot.request = parts_.wire->start(call);
    return true;
}

bool SplitRails::receive_next() {
    if (received_ == sent_) return false;
    Slot& slot = this->slot(received_);
    const auto status = parts_.wire->test(slot.request);
    if (status == BATCHAI_COLL_IN_PROGRESS) return parts_.wire->has_moved();
    slot.request = nullptr;
    if (status != BATCHAI_COLL_OK) {
        failure_ = parts_.wire->failure();
        return true;
    }
    bring_in(received_++);
    return true;
}

void SplitRails::bring_in(std::uint64_t k) {
    Slot& slot = this->slot(k);
    const NodeExchange::Chunk chunk = this->chunk(k);
    std::byte* place = parts_.exchange.place(chunk);
    auto average =
        Device::Reduction::of_one(place, place, parts_.exchange.part(chunk).size(), chunk.type);
    average.after = call_.after;
    average.divisor = divisor_;
    parts_.orders.copy(place, slot.pinned, average.count * type_size(chunk.type), in_);
    if (averages_at_the_end()) parts_.orders.reduce(average, in_);
    parts_.orders.record(slot.in, in_);
}

Step SplitRails::finish() {
    parts_.orders.record(ended_, parts_.exchange.stream());
    parts_.orders.wait(call_.stream, ended_);
    return Step::done;
}

}  // namespace batchai::coll
