// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/shared_exchange.hpp"

#include <algorithm>

namespace batchai::coll {

std::size_t SharedExchange::part_bytes(std::size_t chunk_bytes, int ranks) {
    const std::size_t lines = chunk_bytes / kAlignment / static_cast<std::size_t>(ranks) + 2;
    return lines * kAlignment;
}

std::size_t SharedExchange::device_bytes(std::size_t chunk_bytes, int ranks) {
    return kSlots * (chunk_bytes + part_bytes(chunk_bytes, ranks));
}

std::size_t SharedExchange::host_bytes(int ranks) {
    return sizeof(Counts) * static_cast<std::size_t>(ranks);
}

sys::Result<std::unique_ptr<SharedExchange>> SharedExchange::create(
    Device& device, Orders& orders, int rank, std::vector<std::byte*> memories, Segment counts,
    std::size_t chunk_bytes) {
    std::unique_ptr<SharedExchange> made(
        new SharedExchange(orders, rank, std::move(memories), std::move(counts), chunk_bytes));
    const std::vector streams{&made->stream_};
    std::vector<Device::Event*> events;
    for (Stage* stage : {&made->copied_, &made->ready_}) {
        for (Device::Event& event : stage->events) events.push_back(&event);
    }
    if (auto done = device.make(streams, events); !done) return done.error();
    return made;
}

void SharedExchange::mark(Stage& stage) {
    orders_.record(stage.events[stage.ordered % kSlots], stream_);
    ++stage.ordered;
}

void SharedExchange::tell() {
    Counts& own = counts_[rank_];
    const auto tell_of = [&](Stage& stage, Count& count) {
        while (stage.reported < stage.ordered &&
               orders_.is_done(stage.events[stage.reported % kSlots])) {
            if (orders_.error()) return;
            count.store(++stage.reported, std::memory_order_release);
        }
    };
    tell_of(copied_, own.copied);
    tell_of(ready_, own.ready);
}

bool SharedExchange::have_all(Count Counts::*count, std::uint64_t chunks) const {
    return std::all_of(counts_, counts_ + ranks(), [&](const Counts& counts) {
        return (counts.*count).load(std::memory_order_acquire) >= chunks;
    });
}

bool SharedExchange::reduce(const Chunk& chunk) {
    tell();
    const std::uint64_t k = chunk.number;
    const std::size_t element = type_size(chunk.type);
    if (copied_.ordered == k) {
        orders_.copy(in_slot(rank_, k), chunk.send, chunk.count * element, stream_);
        mark(copied_);
    }
    if (!have_all(&Counts::copied, k + 1)) return false;
    const Range own = part(chunk);
    Device::Reduction reduction;
    reduction.sources = memories_.size();
    for (int r = 0; r < ranks(); ++r) {
        reduction.from[static_cast<std::size_t>(r)] = in_slot(r, k) + own.begin * element;
    }
    reduction.to = part_slot(rank_, k);
    reduction.count = own.size();
    reduction.type = chunk.type;
    reduction.op = chunk.op;
    reduction.before = chunk.before;
    reduction.after = chunk.after;
    reduction.divisor = chunk.divisor;
    orders_.reduce(reduction, stream_);
    return true;
}

bool SharedExchange::gather(const Chunk& chunk, Device::Event after) {
    tell();
    const std::uint64_t k = chunk.number;
    if (ready_.ordered == k) {
        if (after != nullptr) orders_.wait(stream_, after);
        mark(ready_);
    }
    if (!have_all(&Counts::ready, k + 1)) return false;
    const std::size_t element = type_size(chunk.type);
    for (int r = 0; r < ranks(); ++r) {
        const Range range = part(chunk, r);
        orders_.copy(chunk.receive + range.begin * element, part_slot(r, k), range.size() * element,
                     stream_);
    }
    return true;
}

}  // namespace batchai::coll
