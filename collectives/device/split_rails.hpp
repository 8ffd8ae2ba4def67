// SPDX-License-Identifier: Apache-2.0
//
// SplitRails: the hierarchical allreduce of device memory. Each chunk is reduced and scattered
// among the devices of the node; then equal local ranks of all nodes combine their parts, each on
// its own rail, through pinned memory of the host; and the parts are gathered inside the node. Some
// chunks are under way at a time, so that devices, PCIe both ways and the wire are busy together:
//
//   exchange's stream   reduce 0  reduce 1  reduce 2  gather 0  reduce 3  gather 1 ...
//   out                           copy 0    copy 1    ...                        to the host
//   wire                                    allreduce 0    allreduce 1    ...
//   in                                                copy 0         copy 1      to the device
//
// The order on the exchange's stream is fixed, and so the same on all ranks, which NCCL needs:
// chunk k is gathered before chunk k + kSlots is reduced. An arrow from one line to another is an
// event where the device waits, and a query of one where the host does.
//
// Cost for S bytes on N nodes of G ranks in K chunks (1.3 of the literature: UCC's split rail, lane
// decomposition): max(Ti, Tp, Te) + (the others) / K, with
//   Ti, inside the node: of the exchange;
//   Tp = S/G / Bp, Bp being what PCIe carries one way while it carries as much the other way;
//   Te = 2 (N-1)/N S/G / Be, as of the algorithm that the wire's engine takes.
// With one node only Ti is left.
#pragma once

#include <memory>
#include <vector>

#include "collectives/device/device_operation.hpp"
#include "collectives/device/node_exchange.hpp"
#include "collectives/device/orders.hpp"
#include "collectives/engine.hpp"

namespace batchai::coll {

class SplitRails final : public DeviceOperation {
  public:
    // What it works with; all of it stays the caller's.
    struct Parts {
        Device& device;
        Orders& orders;
        NodeExchange& exchange;
        Engine* wire = nullptr;  // of the ranks that combine their parts; null: one node
        int ranks = 1;           // that take part
    };
    static sys::Result<std::unique_ptr<SplitRails>> create(const Parts& parts);

    void begin(const DeviceCall& call) override;
    Step step() override;
    std::string name() const override;

  private:
    static constexpr std::size_t kSlots = NodeExchange::kSlots;

    // Of a chunk between the exchange's two halves. Used again after kSlots chunks.
    struct Slot {
        std::byte* pinned = nullptr;
        Device::Event reduced = nullptr, out = nullptr, in = nullptr;
        Engine::Request* request = nullptr;
    };

    explicit SplitRails(const Parts& parts) : parts_(parts) {}
    Slot& slot(std::uint64_t chunk) { return slots_[(first_ + chunk) % kSlots]; }
    // Chunk k of this call.
    NodeExchange::Chunk chunk(std::uint64_t k) const;

    bool order_next();
    void take_out(std::uint64_t k);
    bool averages_at_the_end() const;
    bool send_next();
    bool receive_next();
    void bring_in(std::uint64_t k);
    Step finish();

    Parts parts_;
    Slot slots_[kSlots];
    Device::Stream out_ = nullptr, in_ = nullptr;
    Device::Event started_ = nullptr, ended_ = nullptr;

    DeviceCall call_;
    int divisor_ = 1;
    std::size_t per_chunk_ = 1;   // elements
    std::uint64_t first_ = 0;     // chunk of this call, of all
    std::uint64_t chunks_ = 0;    // of this call, of which
    std::uint64_t reduced_ = 0;   // are ordered to be reduced
    std::uint64_t sent_ = 0;      // are on the wire, or have been
    std::uint64_t received_ = 0;  // are ordered to be back on the device
    std::uint64_t gathered_ = 0;  // are ordered to be gathered
};

}  // namespace batchai::coll
