// SPDX-License-Identifier: Apache-2.0
//
// Communicator: memory that the ranks of a node can address of each other (Regions).
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "collectives/comm/business_card.hpp"
#include "collectives/comm/comm.hpp"
#include "collectives/comm/group.hpp"

namespace batchai::coll {
namespace {

constexpr std::size_t kPage = 4096;

// Sends this rank's part or error to all ranks. Returns the parts of all, by rank; an error on all
// ranks if one has an error.
sys::Result<std::vector<MemoryPart>> exchange(Bootstrap& ranks, const char* key,
                                              const MemoryPart& own) {
    if (auto done = ranks.publish(key, sys::encode(own)); !done) return done.error();
    if (!own.error.empty()) return sys::Error{own.error};
    std::vector<MemoryPart> parts;
    for (int rank = 0; rank < ranks.size(); ++rank) {
        auto other = look_up<MemoryPart>(ranks, rank, key);
        if (!other) return other.error();
        if (!other->error.empty()) {
            return sys::Error{other->error}.in(fmt::format("rank {}", rank));
        }
        parts.push_back(*std::move(other));
    }
    return parts;
}

}  // namespace

Failure Communicator::meet_for(Kind kind, std::uint32_t region) {
    Signature signature;
    signature.kind = kind;
    signature.root = static_cast<std::int32_t>(region);
    if (engine_->failure().status != BATCHAI_COLL_OK ||
        engine_->wait(engine_->start({signature})) != BATCHAI_COLL_OK) {
        return engine_->failure();
    }
    return {};
}

sys::Result<std::byte*> Communicator::allocate(std::size_t bytes) {
    if (Failure failure = meet_for(Kind::allocate); failure.status != BATCHAI_COLL_OK) {
        return sys::Error{failure.sentence};
    }
    std::vector<int> all(static_cast<std::size_t>(topology_.size));
    std::iota(all.begin(), all.end(), 0);
    Group ranks(*engine_, topology_.rank, topology_.size, all);
    bytes = std::clamp<std::size_t>(bytes, 1, std::numeric_limits<std::ptrdiff_t>::max() - kPage);
    bytes = (bytes + kPage - 1) / kPage * kPage;
    if (auto enough = check_memory(ranks, bytes); !enough) return enough.error();
    auto parts = share(ranks, bytes);
    if (!parts) return parts.error();
    for (Segment& part : *parts) part.close();  // all ranks have opened it
    std::byte* memory = (*parts)[static_cast<std::size_t>(topology_.local_rank())].data();
    regions_->add(std::move(*parts));
    return memory;
}

// Collective over all ranks: checks that each node has the memory that all of its ranks ask for.
sys::Result<void> Communicator::check_memory(Bootstrap& ranks, std::size_t bytes) const {
    const auto wanted = exchange(ranks, "bytes", {{}, bytes, {}});
    if (!wanted) return wanted.error();
    std::size_t needed = 0;
    for (const int rank : topology_.members[topology_.node()]) {
        const std::size_t more = (*wanted)[static_cast<std::size_t>(rank)].bytes;
        needed += std::min(more, std::numeric_limits<std::size_t>::max() - needed);
    }
    const std::size_t available = available_memory();
    MemoryPart enough;
    if (needed > available) {
        enough.error = fmt::format("{} needs {} bytes of memory, but only {} are available",
                                   roster_.node(topology_.node()), needed, available);
    }
    const auto all = exchange(ranks, "enough", enough);
    return all ? sys::Result<void>() : all.error();
}

// Collective over all ranks: returns the memory of each rank of the node, by local rank.
sys::Result<std::vector<Segment>> Communicator::share(Bootstrap& ranks, std::size_t bytes) const {
    auto own = Segment::create(bytes);
    const auto offers = exchange(
        ranks, "memory",
        own ? MemoryPart{{}, own->size(), own->path()} : MemoryPart{own.error().message, 0, {}});
    if (!offers) return offers.error();
    std::vector<Segment> parts;
    MemoryPart opened;
    for (const int rank : topology_.members[topology_.node()]) {
        if (rank == topology_.rank) continue;
        const MemoryPart& offer = (*offers)[static_cast<std::size_t>(rank)];
        auto part = Segment::open(offer.path, offer.bytes);
        if (!part) {
            opened.error = part.error().in(fmt::format("memory of rank {}", rank)).message;
            break;
        }
        parts.push_back(std::move(*part));
    }
    if (opened.error.empty()) parts.insert(parts.begin() + topology_.local_rank(), std::move(*own));
    if (auto done = exchange(ranks, "mapped", opened); !done) return done.error();
    return parts;
}

Failure Communicator::release(std::uint32_t region) {
    Failure failure = meet_for(Kind::free, region);
    if (failure.status == BATCHAI_COLL_OK) regions_->remove(region);
    return failure;
}

}  // namespace batchai::coll
