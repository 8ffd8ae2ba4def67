// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/split_rails.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/common/veto.hpp"

namespace batchai::coll {

sys::Result<std::unique_ptr<SplitRails>> SplitRails::create(const Parts& parts) {
    std::unique_ptr<SplitRails> made(new SplitRails(parts));
    if (auto done = parts.device.make({}, {&made->started_, &made->ended_}); !done) {
        return done.error();
    }
    return made;
}

std::string SplitRails::name() const {
    const std::string inside = fmt::format("{} inside nodes", parts_.exchange.name());
    if (parts_.rail == nullptr) return inside;
    return fmt::format("split rails, {}, pinned memory between them", inside);
}

// 16-bit numbers are multiplied instead of divided, before they are rounded.
void SplitRails::begin(const DeviceCall& call) {
    const std::size_t element = type_size(call.type());
    per_chunk_ =
        numbers_per_chunk(call.count(), element, kSlots, parts_.exchange.chunk_bytes() / element);
    call_ = call;
    after_ = call.signature.after;
    divisor_ = 1;
    if (call.op() == BATCHAI_COLL_AVERAGE) {
        call_.signature.op = BATCHAI_COLL_SUM;
        divisor_ = parts_.ranks;
    }
    if (parts_.rail != nullptr && float_format(call.type()).bytes == 2) {
        after_ /= std::exchange(divisor_, 1);
    }
    chunks_ = chunks_of(call.count(), per_chunk_);
    first_ = parts_.exchange.take_numbers(chunks_);
    if (parts_.rail != nullptr) first_part_ = parts_.rail->returned();
    reduced_ = gathered_ = 0;
    parts_.orders.record(started_, call.stream);
    parts_.orders.wait(parts_.exchange.stream(), started_);
}

NodeExchange::Chunk SplitRails::chunk(std::uint64_t k) const {
    const Range range = chunk_of(call_.count(), per_chunk_, k);
    const std::size_t offset = range.begin * type_size(call_.type());
    NodeExchange::Chunk chunk{
        first_ + k,   call_.send + offset, call_.receive + offset, range.size(),
        call_.type(), call_.op(),          call_.signature.before};
    if (parts_.rail == nullptr) {
        chunk.after = after_;
        chunk.divisor = divisor_;
    }
    return chunk;
}

Step SplitRails::step() {
    bool moved = order_next();
    if (parts_.rail != nullptr) {
        moved |= parts_.rail->step();
        if (parts_.rail->failure().status != BATCHAI_COLL_OK) failure_ = parts_.rail->failure();
    }
    if (failure_.status != BATCHAI_COLL_OK || parts_.orders.error()) return Step::failed;
    if (gathered_ == chunks_) return finish();
    return moved ? Step::moved : Step::idle;
}

// Gives the next order on the exchange's stream, if possible.
bool SplitRails::order_next() {
    if (reduced_ < std::min<std::uint64_t>(chunks_, gathered_ + kSlots)) {
        if (!parts_.exchange.reduce(chunk(reduced_))) return false;
        if (parts_.rail != nullptr) hand_over(reduced_);
        ++reduced_;
        return true;
    }
    if (gathered_ == returned()) return false;
    const Device::Event after =
        parts_.rail == nullptr ? nullptr : parts_.rail->back(first_part_ + gathered_);
    if (!parts_.exchange.gather(chunk(gathered_), after)) return false;
    ++gathered_;
    return true;
}

void SplitRails::hand_over(std::uint64_t k) {
    const NodeExchange::Chunk chunk = this->chunk(k);
    PinnedRail::Part part;
    part.place = parts_.exchange.place(chunk);
    part.count = parts_.exchange.part(chunk).size();
    part.type = chunk.type;
    part.op = chunk.op;
    part.after = after_;
    part.divisor = divisor_;
    parts_.rail->take(part, parts_.exchange.stream());
}

Step SplitRails::finish() {
    parts_.orders.record(ended_, parts_.exchange.stream());
    parts_.orders.wait(call_.stream, ended_);
    return Step::done;
}

}  // namespace batchai::coll
