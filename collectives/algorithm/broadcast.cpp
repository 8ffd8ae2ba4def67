// SPDX-License-Identifier: Apache-2.0
//
// Broadcast: the root copies its chunk into its in slot, and the ranks of its node copy it from
// there; or straight from its buffer (straight.hpp). The rails of its node send a part each to
// their counterparts, which write it into their nodes' out slots.
//
// With slots, a rank that has its data depends on no other rank. So it would not notice a rank that
// calls another operation. With several nodes, one more chunk ends the operation: a barrier between
// the nodes, on the first rail. Inside a node, it is enough that all ranks have entered.
//
// Cost: see spread.hpp, for the parts of the rails.

#include "collectives/algorithm/operation.hpp"
#include "collectives/algorithm/recursive_doubling.hpp"
#include "collectives/algorithm/spread.hpp"
#include "collectives/algorithm/straight.hpp"
#include "collectives/reduce/copy.hpp"

namespace batchai::coll {
namespace {

class Broadcast final : public Straight {
  public:
    using Straight::Straight;

    bool takes(const Call& call) const override { return call.signature.kind == Kind::broadcast; }

  protected:
    std::uint64_t plan() override;
    void copy_in(std::uint64_t k) override;
    bool can_work(std::uint64_t k) override;
    Exchange* work(std::uint64_t k) override;
    bool can_copy_out(std::uint64_t k) override;
    void copy_out(std::uint64_t k) override;
    std::size_t sent(const Call& call) const override;
    std::size_t total(const Call& call) const override { return bytes_of(call.signature); }
    int blocks() const override { return 1; }
    bool gets_blocks(const Call& call) const override {
        return call.signature.root != topology().rank;
    }
    std::size_t longest() const override { return bytes_; }
    void take(std::size_t per_piece, std::uint64_t piece) override;

  private:
    bool is_barrier(std::uint64_t k) const { return k == data_chunks_; }
    Range chunk(std::uint64_t k) const { return chunk_of(bytes_, node().slot_bytes(), k); }
    Exchange* barrier(std::uint64_t k);

    std::size_t bytes_ = 0;
    std::uint64_t data_chunks_ = 0;
    int local_root_ = -1;
    Spread::Shape shape_ = Spread::Shape::binomial;
    std::array<Spread, kSlots> spread_;
    RecursiveDoubling barrier_;
};

}  // namespace

std::uint64_t Broadcast::plan() {
    bytes_ = bytes_of(call_.signature);
    data_chunks_ = chunks_of(bytes_, node().slot_bytes());
    streaming_ = bytes_ >= kStreamFrom;
    local_root_ = local_root();
    const auto rails = static_cast<std::size_t>(topology().rails());
    if (topology().nodes() == 1) return data_chunks_;
    shape_ = Spread::shape_for(context_.planner.link(), topology().nodes(), bytes_ / rails,
                               node().slot_bytes() / rails);
    return data_chunks_ + 1;
}

void Broadcast::copy_in(std::uint64_t k) {
    if (node().rank() != local_root_ || is_barrier(k)) return;
    copy_for_others(node().in_slot(local_root_, at(k)), call_.send + chunk(k).begin,
                    chunk(k).size());
}

bool Broadcast::can_work(std::uint64_t k) {
    if (context_.wire == nullptr || local_root_ < 0 || is_barrier(k)) return true;
    return Node::reached(node().copied(local_root_), at(k));
}

Exchange* Broadcast::work(std::uint64_t k) {
    if (context_.wire == nullptr) return nullptr;
    if (is_barrier(k)) return node().rank() == 0 ? barrier(k) : nullptr;
    const Range own = part_of(chunk(k).size(), 1, node().rank(), topology().rails());
    if (own.size() == 0) return nullptr;
    std::byte* from = local_root_ < 0 ? node().out_slot(at(k)) : node().in_slot(local_root_, at(k));
    Spread& spread = spread_[slot(at(k))];
    spread.start(*context_.wire, tag(), slot(at(k)), topology().node(), topology().nodes(),
                 topology().node_of[call_.signature.root], shape_, from + own.begin, own.size());
    return &spread;
}

Exchange* Broadcast::barrier(std::uint64_t k) {
    barrier_.start(*context_.wire, tag(), slot(at(k)), topology().node(), topology().nodes(),
                   reduction_of(BATCHAI_COLL_INT32, BATCHAI_COLL_SUM), {}, nullptr, nullptr, 0);
    return &barrier_;
}

bool Broadcast::can_copy_out(std::uint64_t k) {
    if (is_barrier(k)) return all_reduced(k, 1);
    if (local_root_ >= 0) return Node::reached(node().copied(local_root_), at(k));
    return all_reduced(k, topology().rails());
}

void Broadcast::copy_out(std::uint64_t k) {
    if (is_barrier(k) || node().rank() == local_root_) return;
    const std::byte* from =
        local_root_ < 0 ? node().out_slot(at(k)) : node().in_slot(local_root_, at(k));
    copy_bytes(call_.receive + chunk(k).begin, from, chunk(k).size(), streaming_);
}

std::size_t Broadcast::sent(const Call& call) const {
    return call.signature.root == topology().rank ? bytes_of(call.signature) : 0;
}

void Broadcast::take(std::size_t per_piece, std::uint64_t piece) {
    if (node().rank() == local_root_) return;
    const Range part = chunk_of(bytes_, per_piece, piece);
    copy_from(local_root_, part.begin, call_.receive + part.begin, part.size());
}

std::unique_ptr<Operation> make_broadcast(Context& context) {
    return std::make_unique<Broadcast>(context);
}

}  // namespace batchai::coll
