// SPDX-License-Identifier: Apache-2.0
//
// Allreduce and reduce, hierarchical, with the rails sharing the load ("split rail"): inside the
// node each reducer combines its part of a chunk over all local ranks, in their order; between the
// nodes it exchanges that part with its counterparts; all ranks then copy the parts from the out
// slot.
//
// Reducers are all ranks if there is one node, else the rails; a short message takes the first
// rails only. The other ranks provide their data and take the result.
//
// Cost for S bytes, N nodes of G ranks, R rails, Bm bytes that a node's memory reads and writes a
// second, Be on a rail: the larger of 2 G S / Bm, every number being read from memory once and
// written once, and 2 (N-1)/N S / (R Be), because the two overlap. A reduce leaves the result with
// its root only, which is cheaper inside the nodes and in direct exchanges. Barriers are allreduces
// of one number.
//
// The bound by a node's memory holds for buffers that all of its ranks can address (placed.hpp).
// Other buffers go through slots: then each rank also reads S bytes from another core's cache.
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
    std::span<const std::byte> beside(const Call& call) override { return placed_.find(call); }
    std::uint64_t plan() override;
    bool waits_for_all() const override { return placed_.sends(); }
    std::uint64_t plan_with_all() override;
    void copy_in(std::uint64_t k) override;
    bool can_work(std::uint64_t k) override;
    Exchange* work(std::uint64_t k) override;
    bool can_copy_out(std::uint64_t k) override;
    void copy_out(std::uint64_t k) override;
    bool may_end() override;

  private:
    // Bytes: of what is combined at a time, and where nothing is kept of it in caches; from which
    // on messages do not go through them.
    static constexpr std::size_t kBlock = 16u << 10, kStreamedBlock = 1u << 10,
                                 kStreamFrom = 8u << 20;
    // Of a chunk that takes no slots, for each rank: so many that what is done once a chunk does
    // not count, and so few that a rank soon looks how the others are.
    static constexpr std::size_t kPlacedPart = 512u << 10;

    Range chunk(std::uint64_t k) const { return chunk_of(count_, per_chunk_, k); }
    // Elements of the chunk, from its begin.
    Range part(std::uint64_t k, int reducer) const;
    // What this rank reduces of the chunk.
    Range own(std::uint64_t k) const;
    bool reduces(std::uint64_t k) const;
    // Where an element of the chunk is in its slots.
    std::byte* in(int rank, std::uint64_t k, std::size_t element) const;
    std::byte* out(std::uint64_t k, std::size_t element) const;
    // Whether this rank is to have the result.
    bool gets_result() const {
        return call_.signature.kind != Kind::reduce || call_.signature.root == topology().rank;
    }
    bool keeps(std::uint64_t k) const;
    bool is_made(std::span<const Piece> pieces) const;
    void choose_algorithm();
    void find_inputs(std::uint64_t k);
    void find_targets(std::uint64_t k);
    void combine_for_node(std::byte* result, std::size_t total);
    Exchange* exchange(std::uint64_t k, std::byte* result, std::size_t count);

    Reduction reduction_;
    Scale scale_;
    Piece whole_;  // of a call without pieces
    Pieces data_;
    std::size_t count_ = 0, per_chunk_ = 0;
    int reducers_ = 1, parts_ = 1;             // of the node; that a chunk of the call is for
    bool is_made_ = false;                     // nothing is to be copied or reduced
    bool streaming_ = false;                   // the receive buffer is larger than the caches
    Algorithm algorithm_ = Algorithm::direct;  // between nodes
    struct {
        Load load = {};
        std::size_t element = 0, wide = 0;
    } chosen_for_;
    std::int32_t nothing_ = 0;  // what a barrier reduces
    Placed placed_;
    std::vector<const void*> inputs_;  // of the node's ranks
    std::vector<std::byte*> targets_;  // of those that get their result as it is made
    std::byte block_[kBlock];          // of a result that is in no slot
    std::array<RecursiveDoubling, kSlots> doubling_;
    std::array<HalvingDoubling, kSlots> halving_;
    std::array<Direct, kSlots> direct_;
    std::array<Ring, kSlots> ring_;
    std::array<std::unique_ptr<std::byte[]>, kSlots> scratch_;
};

}  // namespace batchai::coll
