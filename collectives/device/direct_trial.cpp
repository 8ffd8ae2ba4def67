// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/direct_trial.hpp"

#include <algorithm>

#include "collectives/common/backoff.hpp"
#include "collectives/device/direct_rail.hpp"
#include "collectives/device/orders.hpp"

namespace batchai::coll {
namespace {

class DirectTrial {
  public:
    DirectTrial(Communicator& comm, Device& device)
        : comm_(comm), device_(device), orders_(device) {
        // The ranks of other rails wait for this rail's ranks.
        const auto limit = comm.timeout();
        const std::chrono::milliseconds patience = kPatience;
        deadline_ = std::chrono::steady_clock::now() +
                    (limit.count() == 0 ? patience : std::min(patience, limit / 4));
    }

    // Tries two lengths: UCX sends short messages at once, and long ones by another protocol.
    sys::Result<void> run() {
        const auto host = device_.allocate_pinned(kMost);
        const auto memory = device_.allocate(kMost);
        if (!host || !memory) return (host ? memory : host).error();
        host_ = reinterpret_cast<float*>(*host);
        memory_ = *memory;
        if (auto made = device_.make({&stream_}, {&done_}); !made) return made;
        const Topology& topology = comm_.topology();
        auto rail = DirectRail::create(device_, orders_, comm_.engine(), topology.rank,
                                       topology.size, kMost);
        if (!rail) return rail.error();
        for (const std::size_t count : {std::size_t{100}, kMost / sizeof(float)}) {
            if (auto good = reduce(**rail, count); !good) return good;
        }
        return {};
    }

  private:
    static constexpr std::size_t kMost = 1u << 20;  // bytes
    static constexpr std::chrono::seconds kPatience{20};

    static float number(int rank, std::size_t i) {
        return static_cast<float>(static_cast<int>(i % 13) + rank);
    }
    static float sum(int ranks, std::size_t i) {
        const int of_ranks = ranks * (ranks - 1) / 2;
        return static_cast<float>(ranks * static_cast<int>(i % 13) + of_ranks);
    }

    sys::Result<void> reduce(RailExchange& rail, std::size_t count) {
        const auto [rank, size] = std::pair(comm_.topology().rank, comm_.topology().size);
        for (std::size_t i = 0; i < count; ++i) host_[i] = number(rank, i);
        auto* host = reinterpret_cast<std::byte*>(host_);
        orders_.copy(memory_, host, count * sizeof(float), stream_);
        const std::uint64_t taken = rail.returned();
        RailExchange::Part part;
        part.place = memory_;
        part.count = count;
        part.last = true;
        rail.take(part, stream_);
        const auto returned = [&] {
            (void)rail.step();
            return rail.returned() > taken;
        };
        if (auto good = wait(rail, returned); !good) return good;
        orders_.copy(host, memory_, count * sizeof(float), stream_);
        orders_.record(done_, stream_);
        if (auto good = wait(rail, [&] { return orders_.is_done(done_); }); !good) return good;
        for (std::size_t i = 0; i < count; ++i) {
            if (host_[i] != sum(size, i))
                return sys::Error{"the trial transfer returned wrong data"};
        }
        return {};
    }

    template <class Done>
    sys::Result<void> wait(const RailExchange& rail, Done done) {
        Backoff backoff;
        while (true) {
            const bool is_done = done();
            if (orders_.error()) return *orders_.error();
            if (is_done) return {};
            if (rail.failure().status != BATCHAI_COLL_OK) {
                return sys::Error{rail.failure().sentence};
            }
            if (std::chrono::steady_clock::now() > deadline_)
                return sys::Error{"the trial transfer timed out"};
            backoff.pause();
        }
    }

    Communicator& comm_;
    Device& device_;
    Orders orders_;
    std::chrono::steady_clock::time_point deadline_;
    float* host_ = nullptr;
    std::byte* memory_ = nullptr;
    Device::Stream stream_ = nullptr;
    Device::Event done_ = nullptr;
};

}  // namespace

sys::Result<void> try_direct(Communicator& rail, Device& device) {
    return DirectTrial(rail, device).run();
}

}  // namespace batchai::coll
