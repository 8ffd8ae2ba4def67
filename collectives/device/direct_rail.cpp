// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/direct_rail.hpp"

namespace batchai::coll {

sys::Result<std::unique_ptr<DirectRail>> DirectRail::create(Device& device, Orders& orders,
                                                            Engine& wire, int rank, int ranks,
                                                            std::size_t part_bytes) {
    std::unique_ptr<DirectRail> made(new DirectRail(device, orders, wire, rank, ranks));
    std::vector<Device::Event*> events;
    for (Slot& slot : made->slots_) {
        const auto scratch = device.allocate(DirectHalves::scratch_needed(part_bytes, ranks));
        if (!scratch) return scratch.error();
        slot.scratch = *scratch;
        events.insert(events.end(), {&slot.ready, &slot.combined});
    }
    if (auto done = device.make({&made->stream_}, events); !done) return done.error();
    return made;
}

void DirectRail::take(const Part& part, Device::Stream stream) {
    Slot& slot = this->slot(taken_++);
    slot.part = part;
    orders_.record(slot.ready, stream);
}

bool DirectRail::step() {
    const Device::Entered here(device_);
    moved_ = false;
    const bool ended = end_scatter() || end_gather();
    const bool started = start_scatter() || start_gather();
    return ended || started || moved_;
}

bool DirectRail::start_scatter() {
    if (scattering_ == taken_ || scattering_ > gathering_ + 1) return false;
    Slot& slot = this->slot(scattering_);
    if (!orders_.is_done(slot.ready)) return false;
    slot.scatter = start(Kind::direct_scatter, slot.part, slot.scratch);
    if (slot.scatter != nullptr) ++scattering_;
    return true;
}

bool DirectRail::end_scatter() {
    if (combining_ == scattering_ || !has_ended(slot(combining_).scatter)) return false;
    combine(slot(combining_++));
    return true;
}

bool DirectRail::start_gather() {
    if (gathering_ == combining_) return false;
    Slot& slot = this->slot(gathering_);
    if (!slot.part.last && scattering_ == gathering_ + 1) return false;  // scatter first
    if (!orders_.is_done(slot.combined)) return false;
    slot.gather = start(Kind::direct_gather, slot.part, slot.part.place);
    if (slot.gather != nullptr) ++gathering_;
    return true;
}

bool DirectRail::end_gather() {
    if (returned_ == gathering_ || !has_ended(slot(returned_).gather)) return false;
    ++returned_;
    return true;
}

Engine::Request* DirectRail::start(Kind kind, const Part& part, std::byte* receive) {
    if (orders_.error()) return nullptr;
    if (wire_.failure().status != BATCHAI_COLL_OK) {
        failure_ = wire_.failure();
        return nullptr;
    }
    Call call;
    call.signature.kind = kind;
    call.signature.count = part.count;
    call.signature.type = static_cast<std::uint8_t>(part.type);
    call.signature.op = static_cast<std::uint8_t>(part.op);
    call.send = part.place;
    call.receive = receive;
    call.memory = device_.memory();
    return wire_.start(call);
}

bool DirectRail::has_ended(Engine::Request* request) {
    if (failure_.status != BATCHAI_COLL_OK) return false;
    const auto status = wire_.test(request);
    moved_ |= wire_.has_moved();
    if (status == BATCHAI_COLL_OK) return true;
    if (status != BATCHAI_COLL_IN_PROGRESS) failure_ = wire_.failure();
    return false;
}

void DirectRail::combine(Slot& slot) {
    const Part& part = slot.part;
    const std::size_t element = type_size(part.type);
    const Range own = part_of(part.count, element, rank_, ranks_);
    const std::size_t apart = DirectHalves::stride(part.count, element, rank_, ranks_);
    Device::Reduction reduction;
    reduction.to = part.place + own.begin * element;
    const std::byte* next = slot.scratch;
    for (int r = 0; r < ranks_; ++r) {
        reduction.from[static_cast<std::size_t>(r)] = r == rank_ ? reduction.to : next;
        if (r != rank_) next += apart;
    }
    reduction.sources = static_cast<std::size_t>(ranks_);
    reduction.count = own.size();
    reduction.type = part.type;
    reduction.op = part.op;
    reduction.after = part.after;
    reduction.divisor = part.divisor;
    reduction.tree = true;
    orders_.reduce(reduction, stream_);
    orders_.record(slot.combined, stream_);
}

}  // namespace batchai::coll
