// SPDX-License-Identifier: Apache-2.0
//
// SplitRails: the hierarchical allreduce of device memory. Each chunk is reduced and scattered
// among the devices of the node. Then the ranks with the same local rank on each node combine their
// parts, each on its own rail. Then the parts are gathered inside the node. Several chunks are in
// progress, so that devices, PCIe in both directions and the wire are busy at once:
//
//   exchange's stream   reduce 0  reduce 1  reduce 2  gather 0  reduce 3  gather 1 ...
//   out                           copy 0    copy 1    ...                        to the host
//   wire                                    allreduce 0    allreduce 1    ...
//   in                                                copy 0         copy 1      to the device
//
// The order on the exchange's stream is fixed, and so the same on all ranks, which NCCL needs.
// Chunk k is gathered before chunk k + kSlots is reduced. Between two lines, the device waits for
// an event, or the host queries one.
//
// Cost for S bytes on N nodes of G ranks in K chunks: the larger of Ti and Tr, plus the other / K.
// Ti: the exchange inside the node. Tr: the rail for S/G bytes. With one node the cost is Ti.
// The literature calls this split rail (UCC) or lane decomposition.
#pragma once

#include <memory>

#include "collectives/device/device_operation.hpp"
#include "collectives/device/node_exchange.hpp"
#include "collectives/device/orders.hpp"
#include "collectives/device/pinned_rail.hpp"

namespace batchai::coll {

class SplitRails final : public DeviceOperation {
  public:
    // The parts that it uses; the caller keeps owning them. Other ways may use the exchange and the
    // rail too, one at a time.
    struct Parts {
        Device& device;
        Orders& orders;
        NodeExchange& exchange;
        PinnedRail* rail = nullptr;  // accepts parts as large as the exchange's; null: one node
        int ranks = 1;               // all ranks that take part
    };
    static sys::Result<std::unique_ptr<SplitRails>> create(const Parts& parts);

    void begin(const DeviceCall& call) override;
    Step step() override;
    std::string name() const override;

  private:
    static constexpr std::size_t kSlots = NodeExchange::kSlots;

    explicit SplitRails(const Parts& parts) : parts_(parts) {}
    // Describes chunk k of this call.
    NodeExchange::Chunk chunk(std::uint64_t k) const;

    bool order_next();
    void hand_over(std::uint64_t k);
    // The number of this call's chunks that are back from the rail.
    std::uint64_t returned() const {
        return parts_.rail == nullptr ? reduced_ : parts_.rail->returned() - first_part_;
    }
    Step finish();

    Parts parts_;
    Device::Event started_ = nullptr, ended_ = nullptr;

    DeviceCall call_;
    double after_ = 1;  // factor for the sum of all ranks
    int divisor_ = 1;
    std::size_t per_chunk_ = 1;  // elements
    std::uint64_t first_ = 0;    // this call's first chunk, counted over all calls of the exchange
    std::uint64_t first_part_ = 0;  // this call's first part, counted over all calls of the rail
    std::uint64_t chunks_ = 0;      // of this call
    std::uint64_t reduced_ = 0;     // chunks ordered to be reduced
    std::uint64_t gathered_ = 0;    // chunks ordered to be gathered
};

}  // namespace batchai::coll
