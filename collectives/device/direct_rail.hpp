// SPDX-License-Identifier: Apache-2.0
//
// DirectRail: a RailExchange from device to device, if the wire carries device memory (GPUDirect:
// UCX that was built for CUDA). A part is scattered among the ranks of the rail. Each rank combines
// its block on its device and gathers it to the others. That is the direct allreduce
// (algorithm/direct.hpp) without host memory. Numbers are combined in the order of reduce/tree.hpp
// and rounded once, as on the host.
//
// The wire's operations have the same order on all ranks, whichever device finishes first. While a
// block is combined, the next part is scattered.
//
//   wire     scatter 0   scatter 1   gather 0   scatter 2   gather 1 ...
//   device               combine 0   combine 1              combine 2
//
// Cost for m bytes on N nodes: the larger of 2 a + 2 (N-1) o + 2 (N-1)/N m / Be on the wire and
// (N+1)/N m / B in the device's memory.
#pragma once

#include <memory>

#include "collectives/comm/engine.hpp"
#include "collectives/device/rail_exchange.hpp"

namespace batchai::coll {

class DirectRail final : public RailExchange {
  public:
    // wire: the engine of the ranks that combine their parts, at most as many as a reduction has
    // sources. rank: this rank's number among them. The arguments remain the caller's.
    static sys::Result<std::unique_ptr<DirectRail>> create(Device& device, Orders& orders,
                                                           Engine& wire, int rank, int ranks,
                                                           std::size_t part_bytes);

    void take(const Part& part, Device::Stream stream) override;
    bool step() override;
    Device::Event back(std::uint64_t) const override { return nullptr; }
    const char* name() const override { return "GPU to GPU"; }

  private:
    struct Slot {
        Part part;
        std::byte* scratch = nullptr;  // the blocks of the other ranks
        Device::Event ready = nullptr, combined = nullptr;
        Engine::Request *scatter = nullptr, *gather = nullptr;
    };

    DirectRail(Device& device, Orders& orders, Engine& wire, int rank, int ranks)
        : device_(device), orders_(orders), wire_(wire), rank_(rank), ranks_(ranks) {}
    Slot& slot(std::uint64_t k) { return slots_[k % kSlots]; }
    bool start_scatter();
    bool end_scatter();
    bool start_gather();
    bool end_gather();
    Engine::Request* start(Kind kind, const Part& part, std::byte* receive);
    // Whether the request has ended with success.
    bool has_ended(Engine::Request* request);
    void combine(Slot& slot);

    Device& device_;
    Orders& orders_;
    Engine& wire_;
    int rank_, ranks_;
    Slot slots_[kSlots];
    Device::Stream stream_ = nullptr;
    bool moved_ = false;
    // parts in each stage so far
    std::uint64_t taken_ = 0, scattering_ = 0, combining_ = 0, gathering_ = 0;
};

}  // namespace batchai::coll
