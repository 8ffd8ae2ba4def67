// SPDX-License-Identifier: Apache-2.0
//
// DeviceCommunicator: how the ranks find out what their devices can do together, and which ways
// there are therefore. A rank that cannot take part takes its part in all of it, and says why.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <type_traits>

#include "collectives/common/backoff.hpp"
#include "collectives/device/aborts.hpp"
#include "collectives/device/alone.hpp"
#include "collectives/device/device_comm.hpp"
#include "collectives/device/direct_rail.hpp"
#include "collectives/device/flat.hpp"
#include "collectives/device/pinned_rail.hpp"
#include "collectives/device/shared_exchange.hpp"
#include "collectives/device/split_rails.hpp"
#include "collectives/device/stream_exchange.hpp"
#include "collectives/device/through_host.hpp"

namespace batchai::coll {
namespace {

// Of a chunk: what PCIe carries at its full rate, and some of them a message's pipeline.
constexpr std::size_t kChunk = 4u << 20;
// For devices to find each other.
constexpr std::chrono::seconds kPatience{60};

// All ranks' own, in order; an error where one of them has said what is wrong.
template <class T>
sys::Result<std::vector<T>> gather(Communicator& comm, const T& own) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(comm.topology().size));
    Call call;
    call.signature.kind = Kind::allgather;
    call.signature.count = sizeof own;
    call.send = reinterpret_cast<const std::byte*>(&own);
    call.receive = reinterpret_cast<std::byte*>(all.data());
    Engine& engine = comm.engine();
    if (engine.failure().status != BATCHAI_COLL_OK ||
        engine.wait(engine.start(call)) != BATCHAI_COLL_OK) {
        return sys::Error{engine.failure().sentence};
    }
    for (std::size_t r = 0; r < all.size(); ++r) {
        if (all[r].wrong[0] != '\0') return sys::Error{fmt::format("rank {}: {}", r, all[r].wrong)};
    }
    return all;
}

template <class T, class Base>
bool all_have(const std::vector<T>& words, bool Base::*what) {
    return std::all_of(words.begin(), words.end(), [&](const T& word) { return word.*what; });
}

}  // namespace

sys::Result<void> DeviceCommunicator::set_up(sys::Result<Gpu> gpu) {
    const auto cards = gather(comm_, card(std::move(gpu)));
    if (!cards) return cards.error();
    const auto found = gather(comm_, find(*cards));
    if (!found) return found.error();
    if (counts_) counts_->close();  // everybody has opened it
    const auto parts = gather(comm_, make_parts());
    if (!parts) return parts.error();
    const bool rails = all_have(*found, &Found::memory) || all_have(*found, &Found::node_comm);
    if (rails && all_have(*parts, &Parts::direct)) {
        const auto tried = gather(comm_, try_direct());
        if (!tried) return tried.error();
        take_direct(*tried);
    }
    Word ready;
    const auto made = make_ways(*found);
    if (!made) ready.say(made.error().message);
    if (const auto all = gather(comm_, ready); !all) return all.error();
    return choose();
}

// Nodes have equally many ranks, and several.
bool DeviceCommunicator::has_rails() const {
    const Topology& topology = comm_.topology();
    return topology.rails() == topology.largest_node() && topology.rails() > 1;
}

DeviceCommunicator::Card DeviceCommunicator::card(sys::Result<Gpu> gpu) {
    Card card;
    if (!gpu) {
        card.say(gpu.error().message);
        return card;
    }
    device_ = std::move(gpu->device);
    comms_ = std::move(gpu->comms);
    orders_.emplace(*device_);
    device_->identity().copy(card.identity, sizeof card.identity);
    offer_memory(card);
    offer_comms(card);
    return card;
}

void DeviceCommunicator::offer_memory(Card& card) {
    const Topology& topology = comm_.topology();
    const int ranks = topology.largest_node();
    if (!has_rails() || ranks > static_cast<int>(Device::Reduction::kSources)) return;
    const auto memory = device_->allocate(SharedExchange::device_bytes(kChunk, ranks));
    if (!memory) return card.say(memory.error().message);
    memories_.assign(static_cast<std::size_t>(ranks), nullptr);
    memories_[static_cast<std::size_t>(topology.local_rank())] = *memory;
    if (topology.local_rank() == 0) {
        auto counts = Segment::create(SharedExchange::host_bytes(ranks));
        if (!counts) return card.say(counts.error().message);
        counts->path().copy(card.counts, sizeof card.counts - 1);
        counts_.emplace(std::move(*counts));
    }
    const auto handle = device_->share(*memory);
    if (!handle) return;  // then they do not
    card.memory = *handle;
    card.shares = true;
}

void DeviceCommunicator::offer_comms(Card& card) {
    if (comms_ == nullptr || !comms_->are_possible()) return;
    const auto make = [this](StreamComms::Id& id, bool is_mine) {
        if (!is_mine) return true;
        const auto made = comms_->make_id();
        if (made) id = *made;
        return made.has_value();
    };
    const Topology& topology = comm_.topology();
    card.has_comms =
        make(card.node, topology.local_rank() == 0) && make(card.all, topology.rank == 0);
}

DeviceCommunicator::Found DeviceCommunicator::find(const std::vector<Card>& cards) {
    const Topology& topology = comm_.topology();
    Found found;
    found.memory = all_have(cards, &Card::shares) && open_memories(cards);
    if (!all_have(cards, &Card::has_comms) || has_several_of_one(cards)) return found;
    const auto first = static_cast<std::size_t>(topology.members[topology.node()][0]);
    if (has_rails()) {
        node_comm_ = connect(cards[first].node, topology.local_rank(), topology.local_size());
    }
    if (topology.size > 1) all_comm_ = connect(cards[0].all, topology.rank, topology.size);
    found.node_comm = node_comm_ != nullptr;
    found.all_comm = all_comm_ != nullptr;
    return found;
}

// A device that cannot reach another one's memory is no error.
bool DeviceCommunicator::open_memories(const std::vector<Card>& cards) {
    const Topology& topology = comm_.topology();
    const std::vector<int>& ranks = topology.members[topology.node()];
    for (std::size_t local = 0; local < ranks.size(); ++local) {
        if (ranks[local] == topology.rank) continue;
        const auto opened = device_->open(cards[static_cast<std::size_t>(ranks[local])].memory);
        if (!opened) return false;
        memories_[local] = *opened;
    }
    if (counts_) return true;
    auto counts = Segment::open(cards[static_cast<std::size_t>(ranks[0])].counts,
                                SharedExchange::host_bytes(topology.local_size()));
    if (!counts) return false;
    counts_.emplace(std::move(*counts));
    return true;
}

// Of which NCCL wants nothing, on whatever nodes the job says that its ranks are.
bool DeviceCommunicator::has_several_of_one(const std::vector<Card>& cards) {
    std::vector<std::string_view> identities;
    for (const Card& card : cards) identities.emplace_back(card.identity, sizeof card.identity);
    std::sort(identities.begin(), identities.end());
    return std::adjacent_find(identities.begin(), identities.end()) != identities.end();
}

// Null where they do not find each other in time; what there is of it then ends by itself.
std::unique_ptr<StreamComm> DeviceCommunicator::connect(const StreamComms::Id& id, int rank,
                                                        int size) {
    auto comm = comms_->create(id, rank, size);
    if (!comm) return nullptr;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    Backoff backoff;
    while (std::chrono::steady_clock::now() < deadline && !comm_.engine().has_failed()) {
        const auto ready = (*comm)->ready();
        if (!ready) break;
        if (*ready) return std::move(*comm);
        backoff.pause();
    }
    Aborts().begin(std::move(*comm), device_);
    return nullptr;
}

// This rank's rail. What is wrong with one rail only its ranks know: they take their part in making
// the others, too.
sys::Result<std::unique_ptr<Communicator>> DeviceCommunicator::split_rails() {
    const Topology& topology = comm_.topology();
    sys::Result<std::unique_ptr<Communicator>> own(std::unique_ptr<Communicator>{});
    for (int rail = 0; rail < topology.rails(); ++rail) {
        std::vector<int> ranks;
        for (const std::vector<int>& members : topology.members) {
            ranks.push_back(members[static_cast<std::size_t>(rail)]);
        }
        std::sort(ranks.begin(), ranks.end());
        auto made = comm_.split(ranks);
        if (own && (!made || *made != nullptr)) own = std::move(made);
    }
    return own;
}

// The communicators that ways have to themselves.
DeviceCommunicator::Parts DeviceCommunicator::make_parts() {
    const Topology& topology = comm_.topology();
    Parts parts;
    if (topology.nodes() > 1 && has_rails()) {
        auto rail = split_rails();
        if (rail) {
            rail_ = std::move(*rail);
        } else {
            parts.say(rail.error().message);
        }
    }
    std::vector<int> all(static_cast<std::size_t>(topology.size));
    std::iota(all.begin(), all.end(), 0);
    auto host = comm_.split(all);
    if (host) {
        host_ = std::move(*host);
    } else if (parts.wrong[0] == '\0') {
        parts.say(host.error().message);
    }
    parts.direct = rail_ != nullptr && rail_->engine().carries(device_->memory()) &&
                   topology.nodes() <= static_cast<int>(Device::Reduction::kSources);
    return parts;
}

// Or not, and the plan says why.
void DeviceCommunicator::take_direct(const std::vector<Tried>& tried) {
    const auto failed = std::find_if(tried.begin(), tried.end(),
                                     [](const Tried& of_rank) { return !of_rank.works; });
    if (failed == tried.end()) return;
    no_direct_ = fmt::format("rank {}: {}", failed - tried.begin(), failed->why);
    end(direct_, {BATCHAI_COLL_ERR_SYSTEM, failed->why});
}

sys::Result<void> DeviceCommunicator::make_ways(const std::vector<Found>& found) {
    const Topology& topology = comm_.topology();
    if (topology.size == 1) {
        ways_.push_back(std::make_unique<AloneAllreduce>(*orders_));
        capturable_ = ways_.back().get();
    }
    if (all_have(found, &Found::all_comm)) {
        auto flat = FlatAllreduce::create(*device_, *orders_, *all_comm_, topology.size);
        if (!flat) return flat.error();
        capturable_ = flat->get();
        ways_.push_back(std::move(*flat));
    }
    if (all_have(found, &Found::node_comm)) {
        auto made = StreamExchange::create(*device_, *orders_, *node_comm_, topology.local_rank(),
                                           topology.local_size(), kChunk);
        if (!made) return made.error();
        if (auto done = add_rails(std::move(*made)); !done) return done;
    }
    if (all_have(found, &Found::memory)) {
        auto made = SharedExchange::create(*device_, *orders_, topology.local_rank(), memories_,
                                           counts_->alias(), kChunk);
        if (!made) return made.error();
        if (auto done = add_rails(std::move(*made)); !done) return done;
    }
    auto host = ThroughHost::create(*device_, *orders_, host_->engine(), topology.rank,
                                    topology.size, kChunk);
    if (!host) return host.error();
    ways_.push_back(std::move(*host));
    return {};
}

// One way for each kind of rail that there is.
sys::Result<void> DeviceCommunicator::add_rails(std::unique_ptr<NodeExchange> exchange) {
    NodeExchange& inside = *node_exchanges_.emplace_back(std::move(exchange));
    if (rail_ == nullptr) return add_rails(inside, nullptr);
    auto pinned = PinnedRail::create(*device_, *orders_, rail_->engine(), inside.part_bytes());
    if (!pinned) return pinned.error();
    if (auto done = add_rails(inside, std::move(*pinned)); !done || direct_ == nullptr) return done;
    const Topology& topology = direct_->topology();
    auto direct = DirectRail::create(*device_, *orders_, direct_->engine(), topology.rank,
                                     topology.size, inside.part_bytes());
    if (!direct) return direct.error();
    return add_rails(inside, std::move(*direct));
}

sys::Result<void> DeviceCommunicator::add_rails(NodeExchange& exchange,
                                                std::unique_ptr<RailExchange> rail) {
    RailExchange* between = rail.get();
    if (rail != nullptr) rail_exchanges_.push_back(std::move(rail));
    auto made = SplitRails::create({*device_, *orders_, exchange, between, comm_.topology().size});
    if (!made) return made.error();
    ways_.push_back(std::move(*made));
    return {};
}

}  // namespace batchai::coll
