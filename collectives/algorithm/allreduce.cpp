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

#include <algorithm>
#include <array>
#include <memory>

#include "collectives/algorithm/exchange.hpp"
#include "collectives/algorithm/operation.hpp"
#include "collectives/algorithm/pipeline.hpp"
#include "collectives/algorithm/placed.hpp"
#include "collectives/common/veto.hpp"
#include "collectives/reduce/copy.hpp"

namespace batchai::coll {
namespace {

class Allreduce final : public Pipeline {
  public:
    explicit Allreduce(Context& context);

    // Also what has no data: barriers, and calls whose ranks only meet.
    bool takes(const Call& call) const override {
        return is_empty(call.signature) || reduces_numbers(call.signature);
    }

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
    int reducers_ = 1, parts_ = 1;          // reducers of the node; those with a part of a chunk
    bool is_made_ = false;                  // the buffer already holds the result
    const Algorithm* algorithm_ = nullptr;  // between nodes
    struct {
        Load load = {};
        std::size_t element = 0, wide = 0;
    } chosen_for_;
    std::int32_t nothing_ = 0;  // the data of a barrier
    Placed placed_;
    std::vector<const void*> inputs_;      // by local rank
    std::vector<std::byte*> targets_;      // receive buffers that are written directly
    alignas(64) std::byte block_[kBlock];  // a part of a result, before it is copied
    // By the place in algorithms(), and by slot.
    std::vector<std::array<std::unique_ptr<Combining>, kSlots>> exchanges_;
    std::array<std::unique_ptr<std::byte[]>, kSlots> scratch_;
};

}  // namespace

Allreduce::Allreduce(Context& context)
    : Pipeline(context), placed_(context), inputs_(context.node.size()) {
    targets_.reserve(context.node.size());
    const int nodes = context.topology.nodes();
    reducers_ = nodes == 1 ? context.node.size() : context.topology.rails();
    if (context.wire == nullptr) return;
    const std::size_t share = largest_part(context.node.slot_bytes(), reducers_);
    std::size_t needed = 0;
    for (const Algorithm& algorithm : algorithms()) {
        needed = std::max(needed, algorithm.scratch_needed(nodes, share));
        for (auto& exchange : exchanges_.emplace_back()) exchange = algorithm.make();
    }
    // make_unique_for_overwrite: memory that is never written is never allocated.
    for (auto& scratch : scratch_) scratch = std::make_unique_for_overwrite<std::byte[]>(needed);
}

std::span<const std::byte> Allreduce::beside(const Call& call) {
    const std::size_t bytes = reduces_numbers(call.signature) ? bytes_of(call.signature) : 0;
    const bool is_measured =
        topology().nodes() == 1 && bytes >= kMeasuredFrom && bytes < Faster::kPastCaches;
    return placed_.find(call, !is_measured || prefers_in_place(bytes));
}

std::uint64_t Allreduce::plan() {
    const Signature& signature = call_.signature;
    if (reduces_numbers(signature)) {
        reduction_ = reduction_of(signature.type, signature.op);
        scale_ = scale();
        count_ = signature.count;
        whole_ = {call_.send, call_.receive, 0, count_};
    } else {
        reduction_ = reduction_of(BATCHAI_COLL_INT32, BATCHAI_COLL_SUM);
        scale_ = {};
        count_ = 1;
        nothing_ = 0;
        auto* data = reinterpret_cast<std::byte*>(&nothing_);
        whole_ = {data, data, 0, count_};
    }
    const bool in_pieces = reduces_numbers(signature) && !call_.pieces.empty();
    const std::span<const Piece> pieces =
        in_pieces ? call_.pieces : std::span<const Piece>(&whole_, 1);
    data_ = Pieces(pieces, reduction_.element);
    is_made_ = is_made(pieces);
    const std::size_t bytes = count_ * reduction_.element;
    streaming_ = pieces.back().send != pieces.back().receive && bytes >= kStreamFrom;
    per_chunk_ = context_.chunk_bytes(bytes) / reduction_.element;
    parts_ = topology().nodes() == 1 ? reducers_ : rails_for(bytes, reducers_);
    if (context_.wire != nullptr) choose_algorithm();
    return chunks_of(count_, per_chunk_);
}

// Takes the last choice again for an equal call: the planner predicts six costs, which a short
// message can save.
void Allreduce::choose_algorithm() {
    const Load load{count_, per_chunk_, parts_};
    const bool same = load == chosen_for_.load && reduction_.element == chosen_for_.element &&
                      reduction_.wide == chosen_for_.wide;
    if (same) return;
    algorithm_ = &context_.planner.choose(reduction_, load);
    chosen_for_ = {load, reduction_.element, reduction_.wide};
}

// Whether the only rank's numbers are already the result, and in its place. Booleans are reduced
// anyway, which turns bytes other than 0 into 1.
bool Allreduce::is_made(std::span<const Piece> pieces) const {
    return topology().size == 1 && call_.signature.type != BATCHAI_COLL_BOOL &&
           call_.vetoed == nullptr && scale_ == Scale{} &&
           std::all_of(pieces.begin(), pieces.end(),
                       [](const Piece& piece) { return piece.send == piece.receive; });
}

std::uint64_t Allreduce::plan_with_all() {
    placed_.learn(number_);
    std::optional<Faster::Way> other;
    if (placed_.has_choice()) other = Faster::in_place;
    faster_.goes(other, placed_.is_in_place());
    if (placed_.all()) {
        const std::size_t chunk = kPlacedPart * static_cast<std::size_t>(parts_);
        per_chunk_ = std::max(per_chunk_, chunk / reduction_.element);
    }
    return chunks_of(count_, per_chunk_);
}

Range Allreduce::part(std::uint64_t k, int reducer) const {
    return part_of(chunk(k).size(), reduction_.element, reducer, parts_);
}

Range Allreduce::own(std::uint64_t k) const {
    const std::size_t begin = chunk(k).begin;
    if (node().rank() >= parts_) return {begin, begin};
    const Range own = part(k, node().rank());
    return {begin + own.begin, begin + own.end};
}

bool Allreduce::reduces(std::uint64_t k) const {
    return own(k).size() > 0;
}

std::byte* Allreduce::in(int rank, std::uint64_t k, std::size_t element) const {
    return node().in_slot(rank, at(k)) + (element - chunk(k).begin) * reduction_.element;
}

std::byte* Allreduce::out(std::uint64_t k, std::size_t element) const {
    return node().out_slot(at(k)) + (element - chunk(k).begin) * reduction_.element;
}

// A reducer reads its own part in the caller's buffer if the part is contiguous there.
void Allreduce::copy_in(std::uint64_t k) {
    if (is_made_ || placed_.sends()) return;
    const Range all = chunk(k), mine = own(k);
    const bool in_place = data_.source(mine) != nullptr;
    const Range before{all.begin, in_place ? mine.begin : all.end}, after{mine.end, all.end};
    data_.gather(before, in(node().rank(), k, before.begin));
    if (in_place) data_.gather(after, in(node().rank(), k, after.begin));
}

// Whether combine writes this rank's part of the result straight into the receive buffer.
bool Allreduce::keeps(std::uint64_t k) const {
    return topology().nodes() == 1 && call_.vetoed == nullptr && data_.target(own(k)) != nullptr;
}

bool Allreduce::can_work(std::uint64_t k) {
    return !reduces(k) || node().all_copied(at(k));
}

Exchange* Allreduce::work(std::uint64_t k) {
    if (is_made_ || !reduces(k)) return nullptr;
    const Range mine = own(k);
    find_inputs(k);
    std::byte* result = placed_.all() ? nullptr : out(k, mine.begin);
    if (context_.wire != nullptr) {
        const Scale before = {.before = scale_.before};
        reduction_.combine(result, inputs_.data(), node().size(), mine.size(), before);
        return exchange(k, result, mine.size());
    }
    find_targets(k);
    combine_for_node(result, mine.size());
    return nullptr;
}

// Finds the inputs of the part of the chunk that this rank combines.
void Allreduce::find_inputs(std::uint64_t k) {
    const Range mine = own(k);
    for (int r = 0; r < node().size(); ++r) {
        const std::byte* send = placed_.send(r);
        inputs_[r] =
            send != nullptr ? send + mine.begin * reduction_.element : in(r, k, mine.begin);
    }
    if (const std::byte* source = data_.source(mine)) inputs_[node().rank()] = source;
}

// Finds the receive buffers into which combine writes the result directly.
void Allreduce::find_targets(std::uint64_t k) {
    const Range mine = own(k);
    targets_.clear();
    if (keeps(k)) targets_.push_back(data_.target(mine));
    for (int r = 0; r < node().size(); ++r) {
        std::byte* receive = placed_.receive(r);
        if (receive == nullptr || r == node().rank()) continue;
        targets_.push_back(receive + mine.begin * reduction_.element);
    }
}

// result: the out slot, from which ranks of the node copy; null: none do, and there are targets.
// The first target, or a block if results bypass the caches, gets the numbers first. They are in
// the first-level cache when the slot and the other targets get them.
void Allreduce::combine_for_node(std::byte* result, std::size_t total) {
    const std::size_t block = result == nullptr && streaming_ ? kStreamedBlock : kBlock;
    const std::size_t step = block / reduction_.element;
    for (std::size_t i = 0; i < total; i += step) {
        const std::size_t count = std::min(step, total - i), bytes = count * reduction_.element;
        std::byte* made = targets_.empty() && !moves_for_others() ? result
                          : streaming_ || targets_.empty()        ? block_
                                                                  : targets_.front();
        reduction_.combine(made, inputs_.data(), node().size(), count, scale_);
        if (result != nullptr && result != made) copy_for_others(result, made, bytes);
        for (std::byte*& target : targets_) {
            if (target != made && streaming_) copy_bytes(target, made, bytes, true);
            if (target != made && !streaming_) copy_for_others(target, made, bytes);
            target += bytes;
        }
        if (result != nullptr) result += bytes;
        for (const void*& input : inputs_) input = static_cast<const std::byte*>(input) + bytes;
    }
    if (streaming_) end_streaming();
}

Exchange* Allreduce::exchange(std::uint64_t k, std::byte* result, std::size_t count) {
    const int s = slot(at(k));
    const Scale after = {.after = scale_.after, .divisor = scale_.divisor};
    Combining* exchange = exchanges_[algorithm_ - algorithms().data()][s].get();
    exchange->start(*context_.wire, tag(), s, topology().node(), topology().nodes(), reduction_,
                    after, result, scratch_[s].get(), count);
    return exchange;
}

bool Allreduce::can_copy_out(std::uint64_t k) {
    int last = parts_;  // do not wait for reducers without a part
    while (last > 1 && part(k, last - 1).size() == 0) --last;
    return all_reduced(k, last);
}

void Allreduce::copy_out(std::uint64_t k) {
    if (is_made_ || placed_.receives()) return;
    if (call_.vetoed != nullptr) {
        if (k == 0) *call_.vetoed = is_veto(call_.signature.type, out(0, 0));
        if (*call_.vetoed) return;
    }
    const Range all = chunk(k), mine = own(k);
    const bool kept = reduces(k) && keeps(k);
    const Range before{all.begin, kept ? mine.begin : all.end}, after{mine.end, all.end};
    data_.scatter(before, out(k, before.begin), streaming_);
    if (kept) data_.scatter(after, out(k, after.begin), streaming_);
}

std::unique_ptr<Operation> make_allreduce(Context& context) {
    return std::make_unique<Allreduce>(context);
}

}  // namespace batchai::coll
