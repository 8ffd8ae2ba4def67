// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/stream_exchange.hpp"

#include <algorithm>

namespace batchai::coll {

sys::Result<std::unique_ptr<StreamExchange>> StreamExchange::create(Device& device, Orders& orders,
                                                                    StreamComm& comm, int rank,
                                                                    int ranks,
                                                                    std::size_t chunk_bytes) {
    std::unique_ptr<StreamExchange> made(
        new StreamExchange(orders, comm, rank, ranks, chunk_bytes));
    const auto stream = device.make_stream();
    if (!stream) return stream.error();
    made->stream_ = *stream;
    const auto memory = device.allocate(made->padded_bytes() + kSlots * made->part_bytes());
    if (!memory) return memory.error();
    made->memory_ = *memory;
    return made;
}

std::size_t StreamExchange::part_bytes() const {
    const std::size_t share =
        (chunk_bytes_ + static_cast<std::size_t>(ranks_) - 1) / static_cast<std::size_t>(ranks_);
    return (share + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t StreamExchange::block(const Chunk& chunk) const {
    const std::size_t line = kAlignment / type_size(chunk.type);
    const std::size_t lines = (chunk.count + line - 1) / line;
    const auto ranks = static_cast<std::size_t>(ranks_);
    return (lines + ranks - 1) / ranks * line;
}

Range StreamExchange::part(const Chunk& chunk) const {
    const std::size_t begin = std::min(chunk.count, block(chunk) * static_cast<std::size_t>(rank_));
    return {begin, std::min(chunk.count, begin + block(chunk))};
}

// The chunk's numbers in the form in which they are reduced.
const std::byte* StreamExchange::source(const Chunk& chunk) {
    if (chunk.before != 1 || chunk.type == BATCHAI_COLL_BOOL) {
        auto read = Device::Reduction::of_one(chunk.send, memory_, chunk.count, chunk.type);
        read.before = chunk.before;
        orders_.reduce(read, stream_);
        return memory_;
    }
    if (is_whole(chunk)) return chunk.send;
    orders_.copy(memory_, chunk.send, chunk.count * type_size(chunk.type), stream_);
    return memory_;
}

void StreamExchange::scale(const Chunk& chunk) {
    if (chunk.after == 1 && chunk.divisor == 1) return;
    auto scaled =
        Device::Reduction::of_one(place(chunk), place(chunk), part(chunk).size(), chunk.type);
    scaled.after = chunk.after;
    scaled.divisor = chunk.divisor;
    orders_.reduce(scaled, stream_);
}

bool StreamExchange::reduce(const Chunk& chunk) {
    if (!orders_.is_ready(comm_)) return false;
    if (!given_) {
        const std::byte* from = source(chunk);
        orders_.give([&] {
            return comm_.reduce_scatter(from, place(chunk), block(chunk), chunk.type, chunk.op,
                                        stream_);
        });
        given_ = true;
        if (!orders_.is_ready(comm_)) return false;
    }
    given_ = false;
    scale(chunk);
    return true;
}

bool StreamExchange::gather(const Chunk& chunk, Device::Event after) {
    if (!orders_.is_ready(comm_)) return false;
    std::byte* to = is_whole(chunk) ? chunk.receive : memory_;
    if (!given_) {
        if (after != nullptr) orders_.wait(stream_, after);
        orders_.give(
            [&] { return comm_.all_gather(place(chunk), to, block(chunk), chunk.type, stream_); });
        given_ = true;
        if (!orders_.is_ready(comm_)) return false;
    }
    given_ = false;
    if (to == memory_) {
        orders_.copy(chunk.receive, memory_, chunk.count * type_size(chunk.type), stream_);
    }
    return true;
}

}  // namespace batchai::coll
