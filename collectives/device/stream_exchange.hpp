// SPDX-License-Identifier: Apache-2.0
//
// StreamExchange: a NodeExchange by a StreamComm of the node's ranks, such as NCCL. Parts of a
// chunk are equal. A chunk that cannot be divided equally, or whose numbers must be changed before
// the reduction, goes through a separate buffer.
//
// Cost of a chunk of S bytes for G ranks, for NCCL's rings: 2 (G-1)/G S / Bi.
#pragma once

#include <memory>
#include <vector>

#include "collectives/device/node_exchange.hpp"
#include "collectives/device/stream_comm.hpp"

namespace batchai::coll {

class StreamExchange final : public NodeExchange {
  public:
    // Bytes of device memory.
    static sys::Result<std::unique_ptr<StreamExchange>> create(Device& device, Orders& orders,
                                                               StreamComm& comm, int rank,
                                                               int ranks, std::size_t chunk_bytes);

    bool reduce(const Chunk& chunk) override;
    bool gather(const Chunk& chunk, Device::Event after) override;
    Range part(const Chunk& chunk) const override;
    std::byte* place(const Chunk& chunk) const override {
        return memory_ + padded_bytes() + chunk.number % kSlots * part_bytes();
    }
    Device::Stream stream() const override { return stream_; }
    std::size_t chunk_bytes() const override { return chunk_bytes_; }
    std::size_t part_bytes() const override;
    const char* name() const override { return "NCCL"; }

  private:
    StreamExchange(Orders& orders, StreamComm& comm, int rank, int ranks, std::size_t chunk_bytes)
        : orders_(orders), comm_(comm), rank_(rank), ranks_(ranks), chunk_bytes_(chunk_bytes) {}
    std::size_t padded_bytes() const { return part_bytes() * static_cast<std::size_t>(ranks_); }
    // The numbers of a part.
    std::size_t block(const Chunk& chunk) const;
    bool is_whole(const Chunk& chunk) const {
        return chunk.count == block(chunk) * static_cast<std::size_t>(ranks_);
    }
    const std::byte* source(const Chunk& chunk);
    void scale(const Chunk& chunk);

    Orders& orders_;
    StreamComm& comm_;
    int rank_, ranks_;
    std::size_t chunk_bytes_;
    std::byte* memory_ = nullptr;  // a padded chunk, then the parts' slots
    Device::Stream stream_ = nullptr;
    bool given_ = false;  // the operation was called; it may not be in the stream yet
};

}  // namespace batchai::coll
