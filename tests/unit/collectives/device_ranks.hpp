// SPDX-License-Identifier: Apache-2.0
//
// DeviceRanks: a whole job with devices in one thread, for tests: each rank has a HostDevice, whose
// streams are done late and in a random order, and an allreduce of its memory; ranks take their
// steps in a random order.
#pragma once

#include "collectives/device/flat.hpp"
#include "collectives/device/pinned_rail.hpp"
#include "collectives/device/shared_exchange.hpp"
#include "collectives/device/split_rails.hpp"
#include "collectives/device/stream_exchange.hpp"
#include "collectives/device/through_host.hpp"
#include "host_device.hpp"
#include "meeting_comm.hpp"
#include "ranks.hpp"
#include "value_of.hpp"

namespace batchai::coll {

class DeviceRanks {
  public:
    static constexpr std::size_t kMemory = 1u << 20;  // of each rank, for what is reduced
    // Rails with devices that share memory or that have a StreamComm; one StreamComm of all;
    // everything through the host.
    enum class Path { shared, stream, flat, host };

    DeviceRanks(int nodes, int per_node, Path path, std::size_t chunk_bytes, unsigned seed)
        : random_(seed), per_node_(per_node) {
        const bool rails = path != Path::flat && path != Path::host;
        for (int g = 0; rails && nodes > 1 && g < per_node; ++g) {
            wires_.push_back(std::make_unique<Ranks>(std::vector<int>(nodes, 1), seed + g));
        }
        if (path == Path::host)
            wires_.push_back(std::make_unique<Ranks>(std::vector<int>(nodes, per_node), seed));
        for (int n = 0; n < nodes; ++n) {
            const int first = static_cast<int>(ranks_.size());
            for (int g = 0; g < per_node; ++g) add_rank(seed);
            auto& meeting = *meetings_.emplace_back(std::make_unique<MeetingComm::Meeting>());
            Segment counts = value_of(Segment::create(SharedExchange::host_bytes(per_node)));
            for (int g = 0; g < per_node; ++g) {
                Rank& rank = *ranks_[first + g];
                if (path == Path::flat) {
                    meet(rank, *meetings_[0], first + g, nodes * per_node);
                    rank.allreduce = value_of(FlatAllreduce::create(rank.device, rank.orders,
                                                                    *rank.comm, nodes * per_node));
                    continue;
                }
                if (path == Path::shared) {
                    share(rank, first, g, counts, chunk_bytes);
                } else if (path == Path::stream) {
                    meet(rank, meeting, g, per_node);
                    rank.exchange = value_of(StreamExchange::create(
                        rank.device, rank.orders, *rank.comm, g, per_node, chunk_bytes));
                } else {
                    rank.allreduce = value_of(ThroughHost::create(
                        rank.device, rank.orders, wires_[0]->engine(first + g), chunk_bytes));
                    continue;
                }
                if (!wires_.empty()) {
                    rank.rail =
                        value_of(PinnedRail::create(rank.device, rank.orders, wires_[g]->engine(n),
                                                    rank.exchange->part_bytes()));
                }
                rank.allreduce = value_of(SplitRails::create(
                    {rank.device, rank.orders, *rank.exchange, rank.rail.get(), nodes * per_node}));
            }
            counts_.push_back(std::move(counts));
        }
    }

    int size() const { return static_cast<int>(ranks_.size()); }
    // A rank's memory on its device, as it stands once everything has been done.
    std::byte* memory(int rank) { return ranks_[rank]->memory; }
    // Where the host writes what run() brings there.
    std::byte* input(int rank) { return ranks_[rank]->input; }
    Device::Stream stream(int rank) { return ranks_[rank]->stream; }

    // Brings each rank's input to its device and begins calls[r] on it, in some order, and steps
    // until all are done, on the devices too. Whose the first failure is, and its sentence; or
    // nothing.
    std::string run(const std::vector<DeviceCall>& calls) {
        enum { before, during, after };
        std::vector<int> phases(ranks_.size(), before);
        std::size_t ended = 0;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (ended < ranks_.size()) {
            if (std::chrono::steady_clock::now() > deadline) return "the job stands still";
            const auto r = random_() % ranks_.size();
            Rank& rank = *ranks_[r];
            if (phases[r] == before) {
                value_of(rank.device.copy(rank.memory, rank.input, kMemory, rank.stream));
                rank.allreduce->begin(calls[r]);
                phases[r] = during;
            } else if (phases[r] == during) {
                const Step step = rank.allreduce->step();
                if (step == Step::failed) return rank.why_failed();
                if (step == Step::done) {
                    phases[r] = after;
                    value_of(rank.device.record(rank.done, calls[r].stream));
                    ++ended;
                }
            }
        }
        for (const auto& rank : ranks_) {
            while (!value_of(rank->device.query(rank->done))) {
            }
        }
        return {};
    }

    // As if the ranks had heard of it by the engines that the way uses.
    void fail_engines(const Failure& failure) {
        for (const auto& wire : wires_) {
            for (int r = 0; r < wire->size(); ++r) wire->engine(r).fail(failure, false);
        }
    }

  private:
    struct Rank {
        explicit Rank(unsigned seed) : device(seed), orders(device) {}
        std::string why_failed() const {
            const Failure& failure = allreduce->failure();
            return failure.status != BATCHAI_COLL_OK ? "the host's: " + failure.sentence
                                                     : "the device's: " + orders.error()->message;
        }

        HostDevice device;
        Orders orders;
        std::byte* memory = nullptr;
        std::byte *input = nullptr, *slots = nullptr;
        Device::Stream stream = nullptr;
        Device::Event done = nullptr;
        std::unique_ptr<NodeExchange> exchange;
        std::unique_ptr<PinnedRail> rail;
        std::unique_ptr<MeetingComm> comm;
        std::unique_ptr<DeviceOperation> allreduce;
    };

    void add_rank(unsigned seed) {
        Rank& rank = *ranks_.emplace_back(std::make_unique<Rank>(seed * 100 + ranks_.size()));
        rank.memory = value_of(rank.device.allocate(kMemory));
        rank.input = value_of(rank.device.allocate_pinned(kMemory));
        rank.stream = value_of(rank.device.make_stream());
        rank.done = value_of(rank.device.make_event());
    }

    void meet(Rank& rank, MeetingComm::Meeting& meeting, int number, int count) {
        rank.comm = std::make_unique<MeetingComm>(rank.device, meeting, number, count);
    }

    void share(Rank& rank, int first, int local, const Segment& counts, std::size_t chunk_bytes) {
        std::vector<std::byte*> memories;
        for (int g = 0; g < per_node_; ++g) {
            Rank& other = *ranks_[first + g];
            if (other.slots == nullptr) {
                other.slots = value_of(
                    other.device.allocate(SharedExchange::device_bytes(chunk_bytes, per_node_)));
            }
            memories.push_back(
                g == local ? other.slots
                           : value_of(rank.device.open(value_of(other.device.share(other.slots)))));
        }
        rank.exchange = value_of(SharedExchange::create(
            rank.device, rank.orders, local, std::move(memories), counts.alias(), chunk_bytes));
    }

    std::mt19937 random_;
    int per_node_;
    std::vector<Segment> counts_;
    std::vector<std::unique_ptr<MeetingComm::Meeting>> meetings_;  // by node; the first one of all
    std::vector<std::unique_ptr<Ranks>> wires_;                    // by local rank; or one of all
    std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace batchai::coll
