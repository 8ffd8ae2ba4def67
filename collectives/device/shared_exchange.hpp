// SPDX-License-Identifier: Apache-2.0
//
// SharedExchange: a NodeExchange through device memory that all ranks of the node have opened. It
// is for GPUs that can access each other's memory, or for several ranks on one GPU. It does not
// need NCCL.
//
// For each chunk a rank
//   1. copies its data into its in slot                            and stores `copied`
//   2. reduces its part of all in slots into its part slot
//   3. (the part goes to other nodes and comes back)               and stores `ready`
//   4. copies all part slots to the place of the result.
// `copied` and `ready` count chunks, in host memory. A rank stores them after an event has shown
// that the device has done the step. A rank that reads them may then order the next step: step 2
// when all ranks have copied, step 4 when all are ready. This needs the ranks' processes to run.
// The devices never wait for each other.
//
// A slot is used again for chunk k + slots, after this rank has ordered step 4 of chunk k. By then
// the others have read its in slot: they stored `ready` after their step 2 in the same stream. Step
// 2 writes its part slot after all ranks have stored `copied` of chunk k + slots. In their streams
// that comes after step 4 of chunk k.
//
// Numbers are combined in the order of local ranks; 16-bit numbers are computed as float32.
//
// Cost of a chunk of S bytes for G ranks: 2 S / B for the copy, S (G-1)/G / Bi + S / B for the
// reduction, S (G-1)/G / Bi for gathering. B: the device's memory bandwidth. Bi: bandwidth of the
// link between two devices.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "collectives/device/node_exchange.hpp"
#include "collectives/transport/shm.hpp"

namespace batchai::coll {

class SharedExchange final : public NodeExchange {
  public:
    // Bytes of device memory per rank; bytes of host memory for all ranks together.
    static std::size_t device_bytes(std::size_t chunk_bytes, int ranks);
    static std::size_t host_bytes(int ranks);
    // memories: by local rank. counts: zero, or in use by the other ranks.
    static sys::Result<std::unique_ptr<SharedExchange>> create(Device& device, Orders& orders,
                                                               int rank,
                                                               std::vector<std::byte*> memories,
                                                               Segment counts,
                                                               std::size_t chunk_bytes);

    bool reduce(const Chunk& chunk) override;
    bool gather(const Chunk& chunk, Device::Event after) override;
    Range part(const Chunk& chunk) const override { return part(chunk, rank_); }
    std::byte* place(const Chunk& chunk) const override { return part_slot(rank_, chunk.number); }
    Device::Stream stream() const override { return stream_; }
    std::size_t chunk_bytes() const override { return chunk_bytes_; }
    std::size_t part_bytes() const override { return part_bytes(chunk_bytes_, ranks()); }
    const char* name() const override { return "shared memory"; }

  private:
    using Count = std::atomic<std::uint64_t>;
    struct alignas(128) Counts {
        Count copied, ready;
    };
    // A step of each chunk that this rank reports to the others.
    struct Stage {
        Device::Event events[kSlots] = {};
        std::uint64_t ordered = 0, reported = 0;  // chunks
    };

    SharedExchange(Orders& orders, int rank, std::vector<std::byte*> memories, Segment counts,
                   std::size_t chunk_bytes)
        : orders_(orders),
          rank_(rank),
          memories_(std::move(memories)),
          counts_memory_(std::move(counts)),
          counts_(reinterpret_cast<Counts*>(counts_memory_.data())),
          chunk_bytes_(chunk_bytes) {}
    static std::size_t part_bytes(std::size_t chunk_bytes, int ranks);
    int ranks() const { return static_cast<int>(memories_.size()); }
    Range part(const Chunk& chunk, int rank) const {
        return part_of(chunk.count, type_size(chunk.type), rank, ranks());
    }
    std::byte* in_slot(int rank, std::uint64_t chunk) const {
        return memories_[rank] + chunk % kSlots * chunk_bytes_;
    }
    std::byte* part_slot(int rank, std::uint64_t chunk) const {
        return memories_[rank] + kSlots * chunk_bytes_ + chunk % kSlots * part_bytes();
    }
    // Records that the orders given so far complete this stage of the next chunk.
    void mark(Stage& stage);
    void tell();
    bool have_all(Count Counts::*count, std::uint64_t chunks) const;

    Orders& orders_;
    int rank_;
    std::vector<std::byte*> memories_;
    Segment counts_memory_;
    Counts* counts_;
    std::size_t chunk_bytes_;
    Device::Stream stream_ = nullptr;
    Stage copied_, ready_;
};

}  // namespace batchai::coll
