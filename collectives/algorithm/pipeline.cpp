// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithm/pipeline.hpp"

#include "collectives/reduce/copy.hpp"

namespace batchai::coll {

void Pipeline::begin(const Call& call, std::uint64_t number, std::uint64_t chunk) {
    faster_.begin();
    enter(call, number, beside(call));
    base_ = chunk;
    copied_ = worked_ = finished_ = delivered_ = 0;
    exchanges_.fill(nullptr);
    agreed_ = false;
    chunks_ = plan();
}

Step Pipeline::step() {
    faster_.step_begins();
    const Step step = step_stages();
    faster_.step_ends();
    if (step == Step::done) faster_.done();
    return step;
}

Step Pipeline::step_stages() {
    bool moved = (agreed_ || !waits_for_all()) && try_copy_in();
    if (!agreed_) {
        const Agreement agreement = agree();
        if (agreement == Agreement::broken) return Step::failed;
        if (agreement == Agreement::waiting) return moved ? Step::moved : Step::idle;
        agreed_ = true;
        moved = true;
        chunks_ = plan_with_all();
    }
    moved |= try_work();
    moved |= try_exchange();
    moved |= try_copy_out();
    if (failure().status != BATCHAI_COLL_OK) return Step::failed;
    if (delivered_ == chunks_ && may_end()) return Step::done;
    return moved ? Step::moved : Step::idle;
}

bool Pipeline::try_copy_in() {
    if (copied_ == chunks_ || !node().slot_free(at(copied_))) return false;
    copy_in(copied_);
    node().publish(node().copied(node().rank()), at(copied_));
    ++copied_;
    if (context_.fault != nullptr) context_.fault->reach(number_, copied_);
    return true;
}

bool Pipeline::try_work() {
    if (worked_ == copied_ || !can_work(worked_)) return false;
    exchanges_[slot(at(worked_))] = work(worked_);
    ++worked_;
    return true;
}

bool Pipeline::try_exchange() {
    for (std::uint64_t k = finished_; k < worked_; ++k) {
        Exchange*& exchange = exchanges_[slot(at(k))];
        if (exchange != nullptr && exchange->step()) exchange = nullptr;
    }
    if (finished_ == worked_ || exchanges_[slot(at(finished_))] != nullptr) return false;
    finish(finished_);
    node().publish(node().reduced(node().rank()), at(finished_));
    ++finished_;
    return true;
}

bool Pipeline::try_copy_out() {
    if (delivered_ == finished_ || !can_copy_out(delivered_)) return false;
    copy_out(delivered_);
    if (streaming_) end_streaming();
    node().publish(node().taken(node().rank()), at(delivered_));
    ++delivered_;
    return true;
}

bool Pipeline::all_reduced(std::uint64_t k, int reducers) const {
    for (int r = 0; r < reducers; ++r) {
        if (!Node::reached(node().reduced(r), at(k))) return false;
    }
    return true;
}

void Pipeline::find_missing(Missing& missing) const {
    if (!agreed_) return find_absent(missing);
    std::vector<int>& ranks = missing.ranks;
    ranks.clear();
    missing.certain = false;
    for (std::uint64_t k = finished_; k < worked_; ++k) {
        const Exchange* exchange = exchanges_[slot(at(k))];
        if (exchange == nullptr) continue;
        exchange->for_missing([&](int other) {
            if (ranks.empty() || ranks.back() != topology().rail_rank(other)) {
                ranks.push_back(topology().rail_rank(other));
            }
        });
        return;
    }
    // A rank of this node is late, or its own exchange is.
    for (int r = 0; r < node().size(); ++r) {
        if (Node::reached(node().reduced(r), at(delivered_)) || r == node().rank()) continue;
        ranks.push_back(topology().members[topology().node()][r]);
    }
}

void Pipeline::abandon() {
    for (Exchange*& exchange : exchanges_) {
        if (exchange != nullptr) exchange->abandon();
        exchange = nullptr;
    }
}

}  // namespace batchai::coll
