// SPDX-License-Identifier: Apache-2.0
//
// Threads: the ranks of a node as threads that run at the same time, each with its engine, over one
// mapping of the node's memory, for tests. Slots are small, so that all of them are used again and
// again.
#pragma once

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "collectives/comm/engine.hpp"

namespace batchai::coll {

class Threads {
  public:
    static constexpr std::size_t kSlotBytes = 1024, kShared = 2u << 20;

    struct Rank {
        Engine& engine;
        Progress& progress;
        const Topology& topology;
        std::byte* memory;  // kShared bytes, which all ranks can address
    };

    // in_place: whether ranks take data from shared memory in place; none: if that is faster.
    explicit Threads(int count, std::optional<bool> in_place = {})
        : count_(count),
          in_place_(in_place),
          memory_(Segment::create(Node::bytes_needed(count, kSlotBytes)).value()) {
        for (int r = 0; r < count; ++r) shared_.push_back(Segment::create(kShared).value());
    }

    // Calls body(rank) in a thread for each rank; what it returns is what went wrong.
    template <class Body>
    void run_ranks(Body body) {
        std::vector<std::string> wrong(count_);
        std::vector<std::thread> threads;
        for (int r = 0; r < count_; ++r) {
            threads.emplace_back([&, r] {
                const Topology topology =
                    Topology::from_names(r, std::vector<std::string>(count_, "n0"));
                Node node(memory_.alias(), r, count_, kSlotBytes);
                Regions regions(r);
                std::vector<Segment> parts;
                for (const Segment& part : shared_) parts.push_back(part.alias());
                regions.add(std::move(parts));
                Progress progress(false);
                Engine engine({.topology = topology,
                               .node = node,
                               .wire = nullptr,
                               .regions = &regions,
                               .goes_in_place = in_place_},
                              std::chrono::seconds(30), progress);
                wrong[r] = body(Rank{engine, progress, topology, shared_[r].data()});
            });
        }
        for (std::thread& thread : threads) thread.join();
        for (int r = 0; r < count_; ++r) BOOST_TEST(wrong[r] == "", "rank " << r << wrong[r]);
    }
    // The same with body(number, engine).
    template <class Body>
    void run(Body body) {
        run_ranks([&](const Rank& rank) { return body(rank.topology.rank, rank.engine); });
    }

  private:
    int count_;
    std::optional<bool> in_place_;
    Segment memory_;
    std::vector<Segment> shared_;
};

// Ranks come early and late.
class Delay {
  public:
    explicit Delay(int rank) : random_(static_cast<unsigned>(rank)) {}
    void some() {
        const auto chance = random_() % 16;
        if (chance == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        if (chance < 4) std::this_thread::yield();
    }

  private:
    std::mt19937 random_;
};

}  // namespace batchai::coll
