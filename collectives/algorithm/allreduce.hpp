// SPDX-License-Identifier: Apache-2.0
//
// Allreduce, hierarchical; the rails share the load ("split rail"). Inside the node,
// each reducer combines its part of a chunk over all local ranks, in their order. Between nodes, it
// exchanges that part with its counterparts. All ranks then copy the parts from the out slot.
//
// With one node all ranks are reducers, otherwise the rails; a short message uses only the first
// rails. The other ranks provide their data and take the result.
//
// Cost for S bytes, N nodes of G ranks and R rails: the larger of 2 G S / Bm and 2 (N-1)/N S / (R
// Be), because the two overlap. Bm: bytes per second that a node's memory reads and writes. Every
// number is read from memory once and written once. Be: bytes per second of a rail. Barriers
// are allreduces of one number.
//
// The bound by a node's memory holds for buffers that all of its ranks can address (placed.hpp).
// Other buffers go through slots. Then each rank also reads S bytes from another core's cache.
//
// Source: Träff, Hunold, "Decomposing MPI Collectives for Exploiting Multi-lane Communication",
// CLUSTER 2020.
#pragma once

#include <array>
#include <memory>

#include "collectives/algorithm/direct.hpp"
#include "collectives/algorithm/halving_doubling.hpp"
#include "collectives/algorithm/pipeline.hpp"
#include "collectives/algorithm/placed.hpp"
#include "collectives/algorithm/recursive_doubling.hpp"
#include "collectives/algorithm/ring.hpp"

namespace batchai::coll {

class Allreduce final : public Pipeline {
  public:
    explicit Allreduce(Context& context);

  protected:
    std::span<const std::byte> beside(const Call& call) override;
    std::uint64_t plan() override;
    bool waits_for_all() const override { return placed_.sends(); }
    std::uint64_t plan_with_all() override;
    void copy_in(std::uint64_t k) override;
    bool can_work(std::uint64_t k) override;
    Exchange* work(std::uint64_t k) override;
    bool can_copy_out(std::uint64_t k) override;
    void copy_out(std::uint64_t k) override;
    bool may_end() override { return !placed_.any_sends() || none_failed(); }

  private:
    // Bytes combined at a time, so few that the inputs and results of two ranks about fit the
    // first-level cache. kStreamedBlock: the same for results that bypass the caches.
    static constexpr std::size_t kBlock = 8u << 10, kStreamedBlock = 1u << 10;
    // Each rank's part, in bytes, of a chunk that uses no slots. Large enough that the work per
    // chunk does not count; small enough that a rank soon checks the others.
    static constexpr std::size_t kPlacedPart = 512u << 10;
    // On one node the faster way is measured for messages from so many bytes to kPastCaches.
    static constexpr std::size_t kMeasuredFrom = 32u << 10;

    Range chunk(std::uint64_t k) const { return chunk_of(count_, per_chunk_, k); }
    // A reducer's elements, counted from the start of the chunk.
    Range part(std::uint64_t k, int reducer) const;
    // The elements that this rank reduces.
    Range own(std::uint64_t k) const;
    bool reduces(std::uint64_t k) const;
    // The address of a chunk's element in the slots.
    std::byte* in(int rank, std::uint64_t k, std::size_t element) const;
    std::byte* out(std::uint64_t k, std::size_t element) const;
    bool keeps(std::uint64_t k) const;
    bool is_made(std::span<const Piece> pieces) const;
    void choose_algorithm();
    void find_inputs(std::uint64_t k);
    void find_targets(std::uint64_t k);
    void combine_for_node(std::byte* result, std::size_t total);
    Exchange* exchange(std::uint64_t k, std::byte* result, std::size_t count);

    Reduction reduction_;
    Scale scale_;
    Piece whole_;  // the data of a call without pieces
    Pieces data_;
    std::size_t count_ = 0, per_chunk_ = 0;
    int reducers_ = 1, parts_ = 1;             // reducers of the node; those with a part of a chunk
    bool is_made_ = false;                     // the buffer already holds the result
    Algorithm algorithm_ = Algorithm::direct;  // between nodes
    struct {
        Load load = {};
        std::size_t element = 0, wide = 0;
    } chosen_for_;
    std::int32_t nothing_ = 0;  // the data of a barrier
    Placed placed_;
    std::vector<const void*> inputs_;      // by local rank
    std::vector<std::byte*> targets_;      // receive buffers that are written directly
    alignas(64) std::byte block_[kBlock];  // a part of a result, before it is copied
    std::array<RecursiveDoubling, kSlots> doubling_;
    std::array<HalvingDoubling, kSlots> halving_;
    std::array<Direct, kSlots> direct_;
    std::array<Ring, kSlots> ring_;
    std::array<std::unique_ptr<std::byte[]>, kSlots> scratch_;
};

}  // namespace batchai::coll
