// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/comm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "collectives/comm/business_card.hpp"
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

sys::Result<std::unique_ptr<Communicator>> Communicator::create() {
    auto bootstrap = bootstrap_through_pmix();
    if (!bootstrap) return bootstrap.error();
    return create(std::move(*bootstrap));
}

sys::Result<std::unique_ptr<Communicator>> Communicator::create(
    std::unique_ptr<Bootstrap> bootstrap) {
    remove_signal_handlers();
    std::unique_ptr<Communicator> comm(new Communicator(true));
    comm->bootstrap_ = std::move(bootstrap);
    return join(std::move(comm));
}

// Ranks outside the new communicator take part while its ranks publish.
sys::Result<std::unique_ptr<Communicator>> Communicator::split(const std::vector<int>& ranks) {
    auto some = std::make_unique<Group>(*engine_, topology().rank, topology().size, ranks);
    if (!some->is_member()) {
        for (const char* key : {kIntroduction, kCard, kResult}) {
            if (auto done = some->publish(key, ""); !done) return done.error();
        }
        return std::unique_ptr<Communicator>();
    }
    return group(std::move(some));
}

sys::Result<std::unique_ptr<Communicator>> Communicator::group(
    std::unique_ptr<Bootstrap> bootstrap) {
    std::unique_ptr<Communicator> comm(new Communicator(false));
    comm->bootstrap_ = std::move(bootstrap);
    comm->job_ = job_ == nullptr ? this : job_;
    auto joined = join(std::move(comm));
    if (joined) {
        (*joined)->parent_ = this;
        ++children_;
    }
    return joined;
}

sys::Result<std::unique_ptr<Communicator>> Communicator::join(std::unique_ptr<Communicator> comm) {
    Joined& own = comm->joined_;
    const bool is_job = comm->job_ == nullptr;
    if (auto done = Join(*comm->bootstrap_, is_job, own).run(); !done) return done.error();
    comm->regions_.emplace(own.roster.topology.local_rank());
    const Joined& job = is_job ? own : comm->job_->joined_;
    const Context context{own.roster.topology,
                          *own.node,
                          own.wire.get(),
                          own.planner,
                          &*comm->regions_,
                          is_job ? nullptr : job.node.get(),
                          own.fault ? &*own.fault : nullptr,
                          own.reader ? &*own.reader : nullptr};
    const auto patience =
        job.watchdog == nullptr ? Limits::Milliseconds(0) : job.limits.process / 2;
    comm->engine_ = std::make_unique<Engine>(context, own.timeout, comm->progress_, patience);
    comm->progress_.joined();
    return comm;
}

std::string Communicator::plan() const {
    const Topology& ranks = topology();
    const std::string shape =
        fmt::format("{} rank{} on {} node{}", ranks.size, ranks.size == 1 ? "" : "s", ranks.nodes(),
                    ranks.nodes() == 1 ? "" : "s");
    if (ranks.nodes() == 1) return shape + ": shared memory";
    const int rails = ranks.rails();
    return fmt::format(
        "{}, {} rail{}: {}", shape, rails, rails == 1 ? "" : "s",
        joined_.planner.text(ranks.chunk_bytes(false), joined_.node->slot_bytes(), rails));
}

Failure Communicator::finalize() {
    if (Failure failure = meet_for(Kind::finalize); failure.status != BATCHAI_COLL_OK) {
        return failure;
    }
    // No rank closes a connection before the others have received all data sent on it.
    if (joined_.wire != nullptr) joined_.wire->flush();
    if (auto done = bootstrap_->leave(); !done) {
        return {BATCHAI_COLL_ERR_SYSTEM, done.error().in("finalize").message};
    }
    return {};
}

void Communicator::abort(const std::string& sentence) {
    Communicator& job = job_ == nullptr ? *this : *job_;
    job.joined_.node->fail({BATCHAI_COLL_ERR_ABORTED,
                            fmt::format("rank {} has aborted: {}", job.topology().rank, sentence)});
    if (job.joined_.watchdog != nullptr) job.joined_.watchdog->wake();
}

Communicator::~Communicator() {
    // The wire may still use the engine's and the node's memory.
    if (engine_ != nullptr) engine_->abandon();
    const bool failed = engine_ != nullptr && engine_->failure().status != BATCHAI_COLL_OK;
    if (parent_ == nullptr || failed) joined_.wire.reset();
    if (parent_ == nullptr) return;
    // Other ranks may still wait for the last messages, so the connections stay until the parent
    // ends.
    const std::lock_guard lock(parent_->ends_);
    --parent_->children_;
    if (joined_.wire != nullptr) parent_->retired_.push_back(std::move(joined_.wire));
}

// Memory that the ranks of a node can address of each other (Regions).

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
    std::vector<int> all(static_cast<std::size_t>(topology().size));
    std::iota(all.begin(), all.end(), 0);
    Group ranks(*engine_, topology().rank, topology().size, all);
    bytes = std::clamp<std::size_t>(bytes, 1, std::numeric_limits<std::ptrdiff_t>::max() - kPage);
    bytes = (bytes + kPage - 1) / kPage * kPage;
    if (auto enough = check_memory(ranks, bytes); !enough) return enough.error();
    auto parts = share(ranks, bytes);
    if (!parts) return parts.error();
    for (Segment& part : *parts) part.close();  // all ranks have opened it
    std::byte* memory = (*parts)[static_cast<std::size_t>(topology().local_rank())].data();
    regions_->add(std::move(*parts));
    return memory;
}

// Collective over all ranks: checks that each node has the memory that all of its ranks ask for.
sys::Result<void> Communicator::check_memory(Bootstrap& ranks, std::size_t bytes) const {
    const auto wanted = exchange(ranks, "bytes", {{}, bytes, {}});
    if (!wanted) return wanted.error();
    std::size_t needed = 0;
    for (const int rank : topology().members[topology().node()]) {
        const std::size_t more = (*wanted)[static_cast<std::size_t>(rank)].bytes;
        needed += std::min(more, std::numeric_limits<std::size_t>::max() - needed);
    }
    const std::size_t available = available_memory();
    MemoryPart enough;
    if (needed > available) {
        enough.error = fmt::format("{} needs {} bytes of memory, but only {} are available",
                                   joined_.roster.node(topology().node()), needed, available);
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
    for (const int rank : topology().members[topology().node()]) {
        if (rank == topology().rank) continue;
        const MemoryPart& offer = (*offers)[static_cast<std::size_t>(rank)];
        auto part = Segment::open(offer.path, offer.bytes);
        if (!part) {
            opened.error = part.error().in(fmt::format("memory of rank {}", rank)).message;
            break;
        }
        parts.push_back(std::move(*part));
    }
    if (opened.error.empty())
        parts.insert(parts.begin() + topology().local_rank(), std::move(*own));
    if (auto done = exchange(ranks, "mapped", opened); !done) return done.error();
    return parts;
}

Failure Communicator::release(std::uint32_t region) {
    Failure failure = meet_for(Kind::free, region);
    if (failure.status == BATCHAI_COLL_OK) regions_->remove(region);
    return failure;
}

}  // namespace batchai::coll
