// SPDX-License-Identifier: Apache-2.0
//
// compare_rails: sums and averages of device memory between nodes of one rank, through pinned
// memory and from device to device. Both are to have the same bits, of every type of floats and
// some lengths. Returns what is wrong, or nothing. What fails is an exception.
#pragma once

#include <cstring>
#include <random>
#include <string>

#include "collectives/comm/comm.hpp"
#include "collectives/device/direct_rail.hpp"
#include "collectives/device/pinned_rail.hpp"
#include "collectives/device/shared_exchange.hpp"
#include "collectives/device/split_rails.hpp"
#include "drive.hpp"
#include "numbers.hpp"
#include "value_of.hpp"

namespace batchai::coll::test {

class ComparedRails {
  public:
    static constexpr std::size_t kChunk = 256u << 10, kMost = 300'001;

    ComparedRails(Communicator& comm, Device& device)
        : device_(device),
          orders_(device),
          random_(static_cast<unsigned>(comm.topology().rank)),
          exchange_(value_of(SharedExchange::create(
              device, orders_, 0,
              {value_of(device.allocate(SharedExchange::device_bytes(kChunk, 1)))},
              value_of(Segment::create(SharedExchange::host_bytes(1))), kChunk))) {
        const Topology& topology = comm.topology();
        const std::size_t part = exchange_->part_bytes();
        rails_[0] = value_of(PinnedRail::create(device, orders_, comm.engine(), part));
        rails_[1] = value_of(
            DirectRail::create(device, orders_, comm.engine(), topology.rank, topology.size, part));
        for (int kind = 0; kind < 2; ++kind) {
            ways_[kind] = value_of(SplitRails::create(
                {device, orders_, *exchange_, rails_[kind].get(), topology.size}));
            results_[kind] = value_of(device.allocate_pinned(kMost * sizeof(double)));
        }
        input_ = value_of(device.allocate_pinned(kMost * sizeof(double)));
        memory_ = value_of(device.allocate(2 * kMost * sizeof(double)));
        stream_ = value_of(device.make_stream());
        end_ = value_of(device.make_event());
    }

    template <class Type>
    std::string compare(std::size_t count, batchai_coll_op op) {
        using Stored = typename Type::Stored;
        std::uniform_real_distribution<float> some(-100, 100);
        for (std::size_t i = 0; i < count; ++i) {
            const Stored number = Type::write(static_cast<typename Type::Value>(some(random_)));
            std::memcpy(input_ + i * sizeof number, &number, sizeof number);
        }
        const std::size_t bytes = count * sizeof(Stored);
        for (int kind = 0; kind < 2; ++kind) {
            DeviceCall call =
                allreduce_call(memory_, memory_ + kMost * sizeof(double), count, Type::kType, op);
            call.stream = stream_;
            // Both, so that nothing of the other way's result is left.
            value_of(device_.copy(memory_, input_, bytes, stream_));
            value_of(device_.copy(call.receive, input_, bytes, stream_));
            drive(*ways_[kind], orders_, call);
            value_of(device_.copy(results_[kind], call.receive, bytes, stream_));
            value_of(device_.record(end_, stream_));
            while (!value_of(device_.query(end_))) {
            }
        }
        if (std::memcmp(results_[0], results_[1], bytes) == 0) return {};
        return "type " + std::to_string(Type::kType) + ", " + std::to_string(count) +
               " numbers: other bits from device to device";
    }

  private:
    Device& device_;
    Orders orders_;
    std::mt19937 random_;
    std::unique_ptr<SharedExchange> exchange_;
    std::unique_ptr<RailExchange> rails_[2];
    std::unique_ptr<SplitRails> ways_[2];
    std::byte *results_[2], *input_, *memory_;
    Device::Stream stream_;
    Device::Event end_;
};

inline std::string compare_rails(Communicator& comm, Device& device) {
    ComparedRails rails(comm, device);
    std::string wrong;
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, ComparedRails::kMost}) {
        for (const auto op : {BATCHAI_COLL_SUM, BATCHAI_COLL_AVERAGE}) {
            for_each_float([&](auto type) {
                if (wrong.empty()) wrong = rails.compare<decltype(type)>(count, op);
            });
        }
    }
    return wrong;
}

}  // namespace batchai::coll::test
