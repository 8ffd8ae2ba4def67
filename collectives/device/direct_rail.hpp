// SPDX-License-Identifier: Apache-2.0
//
// DirectRail: a RailExchange from device to device, where the wire carries the device's memory
// (GPUDirect: UCX, where it was built for CUDA). A part is scattered among the ranks of the rail,
// each of which combines its block on its device and gathers it to the others: the direct allreduce
// (algorithm/direct.hpp), without the host's memory. Numbers are combined in the order of
// reduce/tree.hpp and rounded once, as the host does it.
//
// The wire's operations are in an order that all ranks keep, whatever their devices are done with
// first: while a block is combined, the next part is scattered.
//
//   wire     scatter 0   scatter 1   gather 0   scatter 2   gather 1 ...
//   device               combine 0   combine 1              combine 2
//
// Cost for m bytes on N nodes: 2 a + 2 (N-1) o + 2 (N-1)/N m / Be on the wire, or (N+1)/N m / B in
// the device's memory, if that is slower.
#pragma once

#include <memory>

#include "collectives/comm/engine.hpp"
#include "collectives/device/rail_exchange.hpp"

namespace batchai::coll {

class DirectRail final : public RailExchange {
  public:
    // wire: of the ranks that combine their parts, of which this is `rank`; as many as a reduction
    // has sources, at most. All stays the caller's.
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
        std::byte* scratch = nullptr;  // the others' blocks
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
    // Whether it has ended well.
    bool has_ended(Engine::Request* request);
    void combine(Slot& slot);

    Device& device_;
    Orders& orders_;
    Engine& wire_;
    int rank_, ranks_;
    Slot slots_[kSlots];
    Device::Stream stream_ = nullptr;
    bool moved_ = false;
    // Parts that have come so far.
    std::uint64_t taken_ = 0, scattering_ = 0, combining_ = 0, gathering_ = 0;
};

}  // namespace batchai::coll
