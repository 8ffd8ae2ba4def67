// SPDX-License-Identifier: Apache-2.0
//
// ThroughHost: any collective operation on device memory, through the host. For each chunk, the
// device copies this rank's data to pinned memory, the host's engine executes the operation, and
// the device copies the result back. Several chunks are in progress, so that both directions of
// PCIe and the engine are busy at once.
//
// In operations with a block for each rank, a chunk is the same piece of every block; a shorter
// block may have a shorter piece or none. In an alltoallv no rank knows the longest block, so the
// ranks first agree on the number of chunks.
//
// Cost for S bytes to send and R bytes to receive: the largest of S / Bp, R / Bp and the engine's
// time, plus the others / chunks. Bp: PCIe's bandwidth in one direction while both are busy. An
// alltoallv with different lengths needs one more allreduce of one number, and two more for each
// chunk.
#pragma once

#include <memory>
#include <vector>

#include "collectives/algorithm/blocks.hpp"
#include "collectives/comm/engine.hpp"
#include "collectives/device/device_operation.hpp"
#include "collectives/device/orders.hpp"

namespace batchai::coll {

class ThroughHost final : public DeviceOperation {
  public:
    // engine: of all ranks, used by this object only. The arguments remain the caller's.
    static sys::Result<std::unique_ptr<ThroughHost>> create(Device& device, Orders& orders,
                                                            Engine& engine, int rank, int ranks,
                                                            std::size_t chunk_bytes);

    void begin(const DeviceCall& call) override;
    Step step() override;
    std::string name() const override { return "through the host"; }

  private:
    static constexpr std::size_t kSlots = 4;

    // A chunk's place in pinned memory, used again after kSlots chunks.
    struct Slot {
        std::byte* pinned = nullptr;
        Device::Event out = nullptr, in = nullptr;
        Engine::Request* request = nullptr;
    };

    ThroughHost(Orders& orders, Engine& engine, int rank, int ranks, std::size_t chunk_bytes)
        : orders_(orders), engine_(engine), rank_(rank), ranks_(ranks), chunk_bytes_(chunk_bytes) {}

    Slot& slot(std::uint64_t chunk) { return slots_[(first_ + chunk) % kSlots]; }
    std::size_t element() const { return type_size(call_.signature.type); }
    // The range of chunk k of a block in the call's buffer.
    Range piece(const Blocks& blocks, int block, std::uint64_t k) const {
        return blocks.chunk(block, per_chunk_ * element(), k);
    }
    // The address of the operation's result in a slot that starts at `pinned`.
    std::byte* result(std::byte* pinned) const {
        return apart_ ? pinned + chunk_bytes_ / 2 : pinned;
    }
    void lay_out_blocks();
    std::size_t longest_known() const;
    void ask_for_longest();
    bool find_longest();
    void divide(std::size_t longest);

    bool take_out();
    bool start();
    bool bring_in();
    Call operation(std::uint64_t k);
    void cut_blocks(std::uint64_t k);

    Orders& orders_;
    Engine& engine_;
    int rank_, ranks_;
    std::size_t chunk_bytes_;
    Slot slots_[kSlots];
    Device::Stream out_ = nullptr, in_ = nullptr;
    Device::Event started_ = nullptr, ended_ = nullptr;

    DeviceCall call_;
    Blocks given_, got_;         // in bytes
    bool apart_ = false;         // input and output have separate memory in a slot
    std::size_t per_chunk_ = 1;  // numbers of each block
    std::vector<std::size_t> pieces_, received_pieces_;  // counts of a chunk's pieces
    std::uint64_t longest_ = 0;         // numbers of the longest block of all ranks
    Engine::Request* asked_ = nullptr;  // the request that finds longest_
    std::uint64_t first_ = 0;           // this call's first chunk, counted over all calls
    std::uint64_t chunks_ = 0, taken_ = 0, begun_ = 0, brought_ = 0;
};

}  // namespace batchai::coll
