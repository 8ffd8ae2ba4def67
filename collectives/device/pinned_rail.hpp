// SPDX-License-Identifier: Apache-2.0
//
// PinnedRail: the work between the nodes in a hierarchical allreduce, among the ranks with the same
// local rank, chunk by chunk. It replaces this rank's part of the node's result, in place, by the
// same part of the result of all nodes. Each part is copied to pinned host memory, combined by the
// host's allreduce, and copied back. These three stages of different parts overlap. Parts come back
// in the order in which they were taken. At most kSlots are in progress. It never waits for the
// device or for other ranks.
//
// Cost for m bytes on N nodes: the larger of m / Bp and 2 (N-1)/N m / Be. Bp: PCIe's bandwidth in
// one direction while both are busy. Be: bandwidth of the algorithm that the wire's engine uses.
#pragma once

#include <memory>

#include "collectives/comm/engine.hpp"
#include "collectives/device/node_exchange.hpp"

namespace batchai::coll {

class PinnedRail {
  public:
    static constexpr std::uint64_t kSlots = NodeExchange::kSlots;

    struct Part {
        std::byte* place = nullptr;  // device memory; the part has at most part_bytes
        std::size_t count = 0;
        batchai_coll_type type = BATCHAI_COLL_FLOAT32;
        batchai_coll_op op = BATCHAI_COLL_SUM;  // not average, which is a sum with a divisor
        double after = 1;                       // as in Device::Reduction
        int divisor = 1;                        // 1 for 16-bit numbers
    };

    // wire: the engine of the ranks that combine their parts. The arguments remain the caller's.
    static sys::Result<std::unique_ptr<PinnedRail>> create(Device& device, Orders& orders,
                                                           Engine& wire, std::size_t part_bytes);

    PinnedRail(const PinnedRail&) = delete;
    PinnedRail& operator=(const PinnedRail&) = delete;

    // Takes a part that is complete after the stream's current orders.
    void take(const Part& part, Device::Stream stream);
    // Makes progress on the parts. Returns whether there was any.
    bool step();
    // Parts are counted from 0, over all operations. returned(): how many are ordered to be back.
    // back(k): the event after which part k is in its place.
    std::uint64_t returned() const { return returned_; }
    Device::Event back(std::uint64_t k) const { return slots_[k % kSlots].in; }

    // The reason why the host's part has failed. OK: the device has failed, and Orders has the
    // error.
    const Failure& failure() const { return failure_; }

  private:
    struct Slot {
        Part part;
        std::byte* pinned = nullptr;
        Device::Event ready = nullptr, out = nullptr, in = nullptr;
        Engine::Request* request = nullptr;
    };

    PinnedRail(Orders& orders, Engine& wire) : orders_(orders), wire_(wire) {}
    Slot& slot(std::uint64_t k) { return slots_[k % kSlots]; }
    bool send_next();
    bool receive_next();
    void bring_in(Slot& slot);

    Orders& orders_;
    Engine& wire_;
    Slot slots_[kSlots];
    Device::Stream out_ = nullptr, in_ = nullptr;
    std::uint64_t taken_ = 0, sent_ = 0, returned_ = 0;  // parts
    Failure failure_;
};

}  // namespace batchai::coll
