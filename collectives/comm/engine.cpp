// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/engine.hpp"

#include <algorithm>
#include <utility>

#include "collectives/algorithm/operations.hpp"

namespace batchai::coll {

Engine::Engine(const Context& context, std::chrono::milliseconds timeout, Progress& progress,
               std::chrono::milliseconds patience)
    : context_(context), timeout_(timeout), patience_(patience), progress_(progress) {
    // Beside is the fastest one for what it takes.
    for (const auto make : {make_beside, make_allreduce, make_broadcast, make_allgather,
                            make_reduce_scatter, make_alltoall}) {
        kinds_.push_back(make(context_));
    }
    if (context_.topology.rank == 0) entered_.resize(context_.topology.nodes());
    missing_.ranks.reserve(context_.topology.size);
}

void Engine::abandon() {
    if (current_ != nullptr) current_->abandon();
    current_ = nullptr;
}

Operation& Engine::operation_for(const Call& call) {
    const auto takes = [&call](const auto& kind) { return kind->takes(call); };
    return **std::find_if(kinds_.begin(), kinds_.end(), takes);
}

Engine::Request* Engine::take_request() {
    if (unused_.empty()) {
        requests_.emplace_back();
        unused_.push_back(&requests_.back());
    }
    Request* request = unused_.back();
    unused_.pop_back();
    request->engine = this;
    request->status = BATCHAI_COLL_IN_PROGRESS;
    return request;
}

void Engine::enqueue(Request* request) {
    request->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = request;
    last_ = request;
}

// Removes the oldest request from the queue.
Engine::Request* Engine::dequeue() {
    return std::exchange(first_, first_->next);
}

Engine::Request* Engine::start(const Call& call) {
    Request* request = take_request();
    request->call = call;
    request->internal = false;
    std::memcpy(request->label, progress_.label(), sizeof request->label);
    if (!call.counts.empty()) {
        request->counts.assign(call.counts.begin(), call.counts.end());
        request->receive_counts.assign(call.receive_counts.begin(), call.receive_counts.end());
        request->call.counts = request->counts;
        request->call.receive_counts = request->receive_counts;
    }
    if (call.signature.kind == Kind::alltoallv && !is_empty(call.signature)) find_facts(request);
    enqueue(request);
    advance();
    return request;
}

// Runs two allreduces before an alltoallv. Each block counts positive for its sender and negative
// for its receiver. If both sides agree on all blocks, the sum is 0.
void Engine::find_facts(Request* request) {
    const auto mix = [](int from, int to, std::uint64_t count) {
        const std::uint64_t pair =
            static_cast<std::uint64_t>(from) << 32 | static_cast<unsigned>(to);
        const std::uint64_t bits = (count ^ pair * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
        return (bits ^ bits >> 32) * 0xc4ceb9fe1a85ec53ull;
    };
    const int me = context_.topology.rank;
    BlockFacts& facts = request->facts = {};
    for (int r = 0; r < context_.topology.size; ++r) {
        const std::uint64_t sent = request->counts[r], received = request->receive_counts[r];
        facts.longest = std::max({facts.longest, sent, received});
        facts.balance += mix(me, r, sent) - mix(r, me, received);
    }
    request->call.facts = &facts;
    const auto find = [this](std::uint64_t& fact, batchai_coll_op op) {
        Request* prologue = take_request();
        prologue->internal = true;
        auto* data = reinterpret_cast<std::byte*>(&fact);
        prologue->call = {{}, data, data};
        Signature& signature = prologue->call.signature;
        signature.kind = Kind::allreduce;
        signature.count = 1;
        signature.type = BATCHAI_COLL_INT64;
        signature.op = static_cast<std::uint8_t>(op);
        enqueue(prologue);
    };
    find(facts.longest, BATCHAI_COLL_MAX);
    find(facts.balance, BATCHAI_COLL_SUM);
}

batchai_coll_status Engine::conclude(Request* request) {
    unused_.push_back(request);
    return request->status;
}

batchai_coll_status Engine::test(Request* request) {
    moved_ = request->status != BATCHAI_COLL_IN_PROGRESS || advance() != Step::idle;
    if (!moved_) {
        idle_steps_ = kStepsPerWatch;
        watch();
    }
    return request->status == BATCHAI_COLL_IN_PROGRESS ? request->status : conclude(request);
}

batchai_coll_status Engine::wait(Request* request) {
    progress_.set_inside(true);
    while (request->status == BATCHAI_COLL_IN_PROGRESS) {
        if (advance() != Step::idle) {
            backoff_.reset();
            continue;
        }
        watch();
        pause(backoff_);
    }
    backoff_.end();
    progress_.set_inside(false);
    return conclude(request);
}

// Checking the wire takes a system call and costs as much as a yield. So with a wire it does not
// spin.
void Engine::pause(Backoff& backoff) const {
    backoff.pause(chunk_time(), context_.wire == nullptr ? kSpin : std::chrono::nanoseconds(0));
}

// The shortest time in which the wire carries a chunk of the current operation; 0: no wire.
std::chrono::nanoseconds Engine::chunk_time() const {
    if (current_ == nullptr || context_.wire == nullptr) return {};
    const std::size_t whole = bytes_of(current_->call().signature);
    return wire_time(static_cast<double>(std::min(whole, context_.chunk_bytes(whole))));
}

// per_byte was measured with all rails busy. The rails share the bytes.
std::chrono::nanoseconds Engine::wire_time(double bytes) const {
    const double seconds = bytes / context_.topology.rails() * context_.planner.link().per_byte;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

// Not by this rank's wire: only ranks that are rails have one.
std::chrono::nanoseconds Engine::allreduce_time(std::size_t bytes) const {
    const double nodes = context_.topology.nodes();
    return wire_time(2 * (nodes - 1) / nodes * static_cast<double>(bytes));
}

// Makes the oldest request the current operation. False: a failure was reported meanwhile.
bool Engine::begin_first() {
    if (const auto failure = word_here()) {
        fail(*failure, true);
        return false;
    }
    const Call& call = first_->call;
    current_ = &operation_for(call);
    current_->begin(call, ++operations_, chunks_);
    progress_.begin(operations_, call.signature);
    if (context_.fault != nullptr) context_.fault->reach(operations_, 0);
    return true;
}

// The first step of an operation posts its messages before the wire makes progress. Progress takes
// a system call, and a message that arrives before its receive is posted is copied once more.
Step Engine::advance() {
    if (first_ == nullptr) return Step::idle;
    const bool begins = current_ == nullptr;
    if (begins && !begin_first()) return Step::failed;
    const bool received = !begins && context_.wire != nullptr && context_.wire->progress();
    const Step step = current_->step();
    if (step == Step::failed) fail(current_->failure(), true);
    if (step == Step::done) complete_head();
    if (step == Step::idle) return received ? Step::moved : Step::idle;
    if (step == Step::moved) progress_.move();
    idle_since_.reset();
    idle_steps_ = 0;
    return step;
}

void Engine::complete_head() {
    chunks_ += current_->chunks();
    current_ = nullptr;
    progress_.complete();
    end(dequeue(), BATCHAI_COLL_OK);
}

void Engine::end(Request* request, batchai_coll_status status) {
    request->status = status;
    if (request->internal) unused_.push_back(request);
}

}  // namespace batchai::coll
