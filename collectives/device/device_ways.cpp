// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/device_ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <type_traits>

#include "collectives/common/backoff.hpp"
#include "collectives/device/aborts.hpp"
#include "collectives/device/device_operation.hpp"
#include "collectives/device/flat.hpp"
#include "collectives/device/orders.hpp"
#include "collectives/device/shared_exchange.hpp"
#include "collectives/device/split_rails.hpp"
#include "collectives/device/stream_exchange.hpp"
#include "collectives/device/through_host.hpp"

namespace batchai::coll {

// AloneAllreduce: the allreduce of device memory in a communicator of one rank. The result is the
// rank's own numbers, scaled. The call's stream orders all work.
class AloneAllreduce final : public DeviceOperation {
  public:
    explicit AloneAllreduce(Orders& orders) : orders_(orders) {}

    void begin(const DeviceCall& call) override { call_ = call; }
    Step step() override {
        auto scaled =
            Device::Reduction::of_one(call_.send, call_.receive, call_.count(), call_.type());
        scaled.before = call_.signature.before;
        scaled.after = call_.signature.after;
        orders_.reduce(scaled, call_.stream);
        return orders_.error() ? Step::failed : Step::done;
    }
    std::string name() const override { return "on the GPU"; }

  private:
    Orders& orders_;
    DeviceCall call_;
};

namespace {

// Bytes of a chunk. PCIe reaches its full rate with such chunks, and a message has several of them.
constexpr std::size_t kChunk = 4u << 20;
// Time limit for devices to find each other.
constexpr std::chrono::seconds kConnecting{60};
// Time limit for pending work to end after an abort.
constexpr std::chrono::seconds kEnding{5};

// Returns the values of all ranks, in order. An error: some rank has reported one.
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

// Finds out, together with the other ranks, what their devices can do together, and makes the ways
// that are possible. A rank that cannot take part still answers in each round, with its error.
class DeviceWays::Builder {
  public:
    Builder(Communicator& comm, DeviceWays& made) : comm_(comm), made_(made) {}

    sys::Result<void> build(sys::Result<Gpu> gpu);

  private:
    // A rank's message of one round, sent as bytes. `wrong`: why this rank cannot continue.
    struct Word {
        char wrong[256] = {};
        void say(const std::string& why) { why.copy(wrong, sizeof wrong - 1); }
    };
    // Round 1: a rank's data for the others.
    struct DeviceCard : Word {
        char identity[64] = {};
        Device::Handle memory = {};  // of its SharedExchange
        char counts[128] = {};       // the path of the node's segment, from the node's first rank
        StreamComms::Id node = {}, all = {};  // from the first rank of the node, and of all ranks
        bool shares = false, has_comms = false;
    };
    // Round 2: the other ranks' means that this rank can use.
    struct Found : Word {
        bool memory = false, node_comm = false, all_comm = false;
    };

    DeviceCard card(sys::Result<Gpu> gpu);
    void offer_memory(DeviceCard& card);
    void offer_comms(DeviceCard& card);
    Found find(const std::vector<DeviceCard>& cards);
    bool open_memories(const std::vector<DeviceCard>& cards);
    static bool has_several_of_one(const std::vector<DeviceCard>& cards);
    std::unique_ptr<StreamComm> connect(const StreamComms::Id& id, int rank, int size);
    Word make_parts();
    sys::Result<std::unique_ptr<Communicator>> split_rails();
    sys::Result<void> make_ways(const std::vector<Found>& found);
    sys::Result<void> add_rails(std::unique_ptr<NodeExchange> exchange);
    bool has_rails() const;

    Communicator& comm_;
    DeviceWays& made_;
    std::shared_ptr<StreamComms> comms_;
};

sys::Result<void> DeviceWays::Builder::build(sys::Result<Gpu> gpu) {
    const auto cards = gather(comm_, card(std::move(gpu)));
    if (!cards) return cards.error();
    const auto found = gather(comm_, find(*cards));
    if (!found) return found.error();
    if (made_.counts_) made_.counts_->close();  // all ranks have opened it
    const auto parts = gather(comm_, make_parts());
    if (!parts) return parts.error();
    Word ready;
    const auto made = make_ways(*found);
    if (!made) ready.say(made.error().message);
    if (const auto all = gather(comm_, ready); !all) return all.error();
    return {};
}

// Whether all nodes have the same number of ranks, and more than one.
bool DeviceWays::Builder::has_rails() const {
    const Topology& topology = comm_.topology();
    return topology.rails() == topology.largest_node() && topology.rails() > 1;
}

DeviceWays::Builder::DeviceCard DeviceWays::Builder::card(sys::Result<Gpu> gpu) {
    DeviceCard card;
    if (!gpu) {
        card.say(gpu.error().message);
        return card;
    }
    made_.device_ = std::move(gpu->device);
    comms_ = std::move(gpu->comms);
    made_.orders_.emplace(*made_.device_);
    made_.device_->identity().copy(card.identity, sizeof card.identity);
    offer_memory(card);
    offer_comms(card);
    return card;
}

void DeviceWays::Builder::offer_memory(DeviceCard& card) {
    const Topology& topology = comm_.topology();
    const int ranks = topology.largest_node();
    if (!has_rails() || ranks > static_cast<int>(Device::Reduction::kSources)) return;
    const auto memory = made_.device_->allocate(SharedExchange::device_bytes(kChunk, ranks));
    if (!memory) return card.say(memory.error().message);
    made_.memories_.assign(static_cast<std::size_t>(ranks), nullptr);
    made_.memories_[static_cast<std::size_t>(topology.local_rank())] = *memory;
    if (topology.local_rank() == 0) {
        auto counts = Segment::create(SharedExchange::host_bytes(ranks));
        if (!counts) return card.say(counts.error().message);
        counts->path().copy(card.counts, sizeof card.counts - 1);
        made_.counts_.emplace(std::move(*counts));
    }
    const auto handle = made_.device_->share(*memory);
    if (!handle) return;  // then devices do not share memory
    card.memory = *handle;
    card.shares = true;
}

void DeviceWays::Builder::offer_comms(DeviceCard& card) {
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

DeviceWays::Builder::Found DeviceWays::Builder::find(const std::vector<DeviceCard>& cards) {
    const Topology& topology = comm_.topology();
    Found found;
    found.memory = all_have(cards, &DeviceCard::shares) && open_memories(cards);
    if (!all_have(cards, &DeviceCard::has_comms) || has_several_of_one(cards)) return found;
    const auto first = static_cast<std::size_t>(topology.members[topology.node()][0]);
    if (has_rails()) {
        made_.node_comm_ = connect(cards[first].node, topology.local_rank(), topology.local_size());
    }
    if (topology.size > 1) made_.all_comm_ = connect(cards[0].all, topology.rank, topology.size);
    found.node_comm = made_.node_comm_ != nullptr;
    found.all_comm = made_.all_comm_ != nullptr;
    return found;
}

// Not an error: a device may be unable to access another one's memory.
bool DeviceWays::Builder::open_memories(const std::vector<DeviceCard>& cards) {
    const Topology& topology = comm_.topology();
    const std::vector<int>& ranks = topology.members[topology.node()];
    for (std::size_t local = 0; local < ranks.size(); ++local) {
        if (ranks[local] == topology.rank) continue;
        const auto opened =
            made_.device_->open(cards[static_cast<std::size_t>(ranks[local])].memory);
        if (!opened) return false;
        made_.memories_[local] = *opened;
    }
    if (made_.counts_) return true;
    auto counts = Segment::open(cards[static_cast<std::size_t>(ranks[0])].counts,
                                SharedExchange::host_bytes(topology.local_size()));
    if (!counts) return false;
    made_.counts_.emplace(std::move(*counts));
    return true;
}

// Whether ranks share a GPU, which NCCL refuses, even between nodes with different names.
bool DeviceWays::Builder::has_several_of_one(const std::vector<DeviceCard>& cards) {
    std::vector<std::string_view> identities;
    for (const DeviceCard& card : cards)
        identities.emplace_back(card.identity, sizeof card.identity);
    std::sort(identities.begin(), identities.end());
    return std::adjacent_find(identities.begin(), identities.end()) != identities.end();
}

// Null: the ranks did not find each other in time. The unfinished StreamComm then ends in a thread
// of its own.
std::unique_ptr<StreamComm> DeviceWays::Builder::connect(const StreamComms::Id& id, int rank,
                                                         int size) {
    auto comm = comms_->create(id, rank, size);
    if (!comm) return nullptr;
    const auto deadline = std::chrono::steady_clock::now() + kConnecting;
    Backoff backoff;
    while (std::chrono::steady_clock::now() < deadline && !comm_.engine().has_failed()) {
        const auto ready = (*comm)->ready();
        if (!ready) break;
        if (*ready) return std::move(*comm);
        backoff.pause();
    }
    Aborts().begin(std::move(*comm), made_.device_);
    return nullptr;
}

// Returns this rank's rail. Only the ranks of a rail know its error. A rank takes part in making
// all rails, even after an error on its own.
sys::Result<std::unique_ptr<Communicator>> DeviceWays::Builder::split_rails() {
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

// Makes the communicators that only ways use.
DeviceWays::Builder::Word DeviceWays::Builder::make_parts() {
    const Topology& topology = comm_.topology();
    Word parts;
    if (topology.nodes() > 1 && has_rails()) {
        auto rail = split_rails();
        if (rail) {
            made_.rail_ = std::move(*rail);
        } else {
            parts.say(rail.error().message);
        }
    }
    std::vector<int> all(static_cast<std::size_t>(topology.size));
    std::iota(all.begin(), all.end(), 0);
    auto host = comm_.split(all);
    if (host) {
        made_.host_ = std::move(*host);
    } else if (parts.wrong[0] == '\0') {
        parts.say(host.error().message);
    }
    return parts;
}

sys::Result<void> DeviceWays::Builder::make_ways(const std::vector<Found>& found) {
    const Topology& topology = comm_.topology();
    if (topology.size == 1) {
        made_.ways_.push_back(std::make_unique<AloneAllreduce>(*made_.orders_));
    }
    if (all_have(found, &Found::all_comm)) {
        auto flat =
            FlatAllreduce::create(*made_.device_, *made_.orders_, *made_.all_comm_, topology.size);
        if (!flat) return flat.error();
        made_.ways_.push_back(std::move(*flat));
    }
    if (all_have(found, &Found::node_comm)) {
        auto made = StreamExchange::create(*made_.device_, *made_.orders_, *made_.node_comm_,
                                           topology.local_rank(), topology.local_size(), kChunk);
        if (!made) return made.error();
        if (auto done = add_rails(std::move(*made)); !done) return done;
    }
    if (all_have(found, &Found::memory)) {
        auto made = SharedExchange::create(*made_.device_, *made_.orders_, topology.local_rank(),
                                           made_.memories_, made_.counts_->alias(), kChunk);
        if (!made) return made.error();
        if (auto done = add_rails(std::move(*made)); !done) return done;
    }
    auto host = ThroughHost::create(*made_.device_, *made_.orders_, made_.host_->engine(), kChunk);
    if (!host) return host.error();
    made_.ways_.push_back(std::move(*host));
    return {};
}

sys::Result<void> DeviceWays::Builder::add_rails(std::unique_ptr<NodeExchange> exchange) {
    NodeExchange& inside = *made_.node_exchanges_.emplace_back(std::move(exchange));
    PinnedRail* between = nullptr;
    if (made_.rail_ != nullptr) {
        auto rail = PinnedRail::create(*made_.device_, *made_.orders_, made_.rail_->engine(),
                                       inside.part_bytes());
        if (!rail) return rail.error();
        between = made_.pinned_rails_.emplace_back(std::move(*rail)).get();
    }
    auto made = SplitRails::create(
        {*made_.device_, *made_.orders_, inside, between, comm_.topology().size});
    if (!made) return made.error();
    made_.ways_.push_back(std::move(*made));
    return {};
}

sys::Result<std::unique_ptr<DeviceWays>> DeviceWays::make(Communicator& comm,
                                                          sys::Result<Gpu> gpu) {
    std::unique_ptr<DeviceWays> made(new DeviceWays(comm));
    if (auto done = Builder(comm, *made).build(std::move(gpu)); !done) {
        made->abort();
        return done.error();
    }
    return made;
}

// Pending messages end with the wires, and pending GPU work ends with the StreamComms. Both use
// memory of the device, so they end before it.
DeviceWays::~DeviceWays() {
    ways_.clear();
    pinned_rails_.clear();
    node_exchanges_.clear();
    for (auto* part : {&rail_, &host_}) end(*part, {});
    node_comm_.reset();
    all_comm_.reset();
    device_.reset();
}

void DeviceWays::abort() {
    Failure why = comm_.engine().failure();
    if (why.status == BATCHAI_COLL_OK) {
        why = {BATCHAI_COLL_ERR_ABORTED,
               fmt::format("rank {} has left without closing its device", comm_.topology().rank)};
    }
    ways_.clear();
    pinned_rails_.clear();
    node_exchanges_.clear();
    Aborts aborts;
    for (auto* comm : {&node_comm_, &all_comm_}) {
        if (*comm != nullptr) aborts.begin(std::move(*comm), device_);
    }
    for (auto* part : {&rail_, &host_}) end(*part, why);
    if (device_ != nullptr) aborts.begin(nullptr, std::move(device_));
    aborts.wait(kEnding);
}

void DeviceWays::close() {
    device_->close();
    for (Communicator* part : {rail_.get(), host_.get()}) {
        if (part == nullptr || comm_.engine().failure().status != BATCHAI_COLL_OK) continue;
        const Failure failed = part->finalize();
        if (failed.status != BATCHAI_COLL_OK) comm_.engine().fail_unless_reported(failed);
    }
}

// failure: ends messages that may be pending; OK: there are none.
void DeviceWays::end(std::unique_ptr<Communicator>& part, const Failure& failure) {
    if (part == nullptr) return;
    const bool knows = part->engine().failure().status != BATCHAI_COLL_OK;
    if (failure.status != BATCHAI_COLL_OK && !knows) part->engine().fail(failure, false);
    part.reset();
}

Failure DeviceWays::failure_of(const DeviceOperation& way, const std::string& doing) const {
    if (way.failure().status != BATCHAI_COLL_OK) return way.failure();
    return {BATCHAI_COLL_ERR_SYSTEM, fmt::format("rank {}: {}: {}", comm_.topology().rank, doing,
                                                 orders_->error()->message)};
}

}  // namespace batchai::coll
