// SPDX-License-Identifier: Apache-2.0
//
// Ranks: a whole job in one thread, for tests: any number of nodes and ranks, each with its engine,
// its node's shared memory and a wire in memory. Ranks take their steps in a random order, the same
// for the same seed, so that a test sees interleavings which real ranks rarely meet. A job that
// stands still is an error after 20 s: engines take their time to find some failures.
#pragma once

#include <numeric>

#include "collectives/comm/engine.hpp"
#include "counting.hpp"
#include "memory_wire.hpp"

namespace batchai::coll {

class Ranks {
  public:
    // How ranks of one node get each other's data. reader: of all ranks. in_place: none means what
    // is faster.
    struct Inside {
        const Reader* reader = nullptr;
        std::optional<bool> in_place = {};
    };

    // nodes: how many ranks each has. slot_bytes: small ones make many chunks of little data.
    // named: the algorithm between nodes, whatever it costs. link: the cost of messages there.
    explicit Ranks(const std::vector<int>& nodes, unsigned seed = 1,
                   const Algorithm* named = nullptr, std::size_t slot_bytes = 4096,
                   std::chrono::milliseconds patience = std::chrono::milliseconds(0),
                   Inside inside = {nullptr, {}}, const Link& link = {})
        : random_(seed) {
        std::vector<std::string> names;
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            names.insert(names.end(), nodes[n], "n" + std::to_string(n));
        }
        const Topology first = Topology::from_names(0, names);
        for (int rail = 0; rail < first.rails(); ++rail) {
            networks_.push_back(std::make_unique<Network>(first.nodes(), seed + rail));
        }
        for (int r = 0; r < first.size; ++r) {
            auto rank = std::make_unique<Rank>();
            rank->topology = Topology::from_names(r, names);
            const int local = rank->topology.local_rank(), count = rank->topology.local_size();
            const std::size_t bytes = Node::bytes_needed(count, slot_bytes);
            auto memory = local == 0 ? Segment::create(bytes)
                                     : Segment::open(ranks_[r - local]->node->path(), bytes);
            if (!memory) throw std::runtime_error(memory.error().message);
            rank->node = std::make_unique<Node>(std::move(*memory), local, count, slot_bytes);
            if (first.nodes() > 1 && local < first.rails()) {
                rank->wire = std::make_unique<MemoryWire>(*networks_[local], rank->topology.node());
            }
            rank->regions.emplace(local);
            rank->engine = std::make_unique<Engine>(
                Context{rank->topology, *rank->node, rank->wire.get(),
                        Planner(link, first.nodes(), named), &*rank->regions, nullptr, nullptr,
                        inside.reader, inside.in_place},
                std::chrono::milliseconds(0), rank->progress, patience);
            ranks_.push_back(std::move(rank));
        }
    }

    int size() const { return static_cast<int>(ranks_.size()); }
    const Topology& topology(int rank) const { return ranks_[rank]->topology; }
    Engine& engine(int rank) { return *ranks_[rank]->engine; }
    Progress& progress(int rank) { return ranks_[rank]->progress; }

    // Gives each rank so much memory that all ranks of its node can address.
    std::vector<std::byte*> share(std::size_t bytes) {
        std::vector<Segment> made;
        for (int r = 0; r < size(); ++r) made.push_back(Segment::create(bytes).value());
        std::vector<std::byte*> own;
        for (const auto& rank : ranks_) {
            std::vector<Segment> parts;
            for (const int other : rank->topology.members[rank->topology.node()]) {
                parts.push_back(Segment::open(made[other].path(), bytes).value());
            }
            own.push_back(parts[rank->topology.local_rank()].data());
            rank->regions->add(std::move(parts));
        }
        return own;
    }

    // A node's cable is pulled.
    void cut(int node) {
        for (const auto& network : networks_) network->cut(node);
    }
    // The cable of `node` is pulled after this number of steps of all ranks.
    struct Cut {
        int node;
        std::size_t step;
    };

    // Starts calls[r] on rank r, in some order, and steps until all have ended.
    std::vector<batchai_coll_status> run(const std::vector<Call>& calls,
                                         std::optional<Cut> pulled = {}) {
        std::vector<int> order(calls.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random_);
        std::vector<Engine::Request*> requests(calls.size(), nullptr);
        std::vector<batchai_coll_status> statuses(calls.size(), BATCHAI_COLL_IN_PROGRESS);
        std::size_t started = 0, ended = 0, steps = 0;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (ended < calls.size()) {
            if (++steps % 10'000 == 0 && std::chrono::steady_clock::now() > deadline) {
                throw std::runtime_error("the job stands still");
            }
            if (pulled && steps == pulled->step) cut(pulled->node);
            if (started < order.size() && random_() % 4 == 0) {
                const int r = order[started++];
                const Counting on(true);
                requests[r] = engine(r).start(calls[r]);
            }
            const auto r = static_cast<int>(random_() % calls.size());
            if (requests[r] == nullptr || statuses[r] != BATCHAI_COLL_IN_PROGRESS) continue;
            const Counting on(true);
            statuses[r] = engine(r).test(requests[r]);
            ended += statuses[r] != BATCHAI_COLL_IN_PROGRESS;
        }
        return statuses;
    }

    // Bytes of all messages between nodes.
    std::size_t sent() const {
        std::size_t sum = 0;
        for (const auto& rank : ranks_) sum += rank->wire == nullptr ? 0 : rank->wire->sent();
        return sum;
    }
    // Messages without a receive, and receives without a message.
    std::size_t left_over() const {
        std::size_t sum = 0;
        for (const auto& rank : ranks_) sum += rank->wire == nullptr ? 0 : rank->wire->unread();
        return sum;
    }

  private:
    struct Rank {
        Topology topology;
        std::unique_ptr<Node> node;
        std::optional<Regions> regions;
        Progress progress;
        std::unique_ptr<MemoryWire> wire;
        std::unique_ptr<Engine> engine;
    };

    std::mt19937 random_;
    std::vector<std::unique_ptr<Network>> networks_;  // by rail
    std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace batchai::coll
