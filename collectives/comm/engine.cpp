// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/algorithm/operation.hpp"

namespace batchai::coll {

namespace {

using namespace std::chrono_literals;

constexpr auto kLookEvery = 10ms;
constexpr std::chrono::milliseconds kMostPatience = 1s;  // in a call that should not wait

// "operation 7, allreduce (sum) of 5 float32 (grad.3)"
std::string describe(const Request& request, std::uint64_t number) {
    const std::string what =
        fmt::format("operation {}, {}", number, coll::describe(request.call.signature));
    return request.label[0] == '\0' ? what : fmt::format("{} ({})", what, request.label);
}

}  // namespace

Request* RequestQueue::take() {
    if (unused_.empty()) {
        requests_.emplace_back();
        unused_.push_back(&requests_.back());
    }
    Request* request = unused_.back();
    unused_.pop_back();
    request->status = BATCHAI_COLL_IN_PROGRESS;
    return request;
}

void RequestQueue::put(Request* request) {
    request->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = request;
    last_ = request;
}

void RequestQueue::end_first(batchai_coll_status status) {
    Request* request = std::exchange(first_, first_->next);
    request->status = status;
    if (request->internal) give_back(request);
}

Engine::Engine(const Context& context, std::chrono::milliseconds timeout, Progress& progress,
               std::chrono::milliseconds patience)
    : context_(context), timeout_(timeout), progress_(progress), reports_(context_, patience) {
    // Beside is the fastest one for what it takes.
    for (const auto make : {make_beside, make_allreduce, make_broadcast, make_allgather,
                            make_reduce_scatter, make_alltoall}) {
        kinds_.push_back(make(context_));
    }
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

Engine::Request* Engine::start(const Call& call) {
    Request* request = requests_.take();
    request->engine = this;
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
    requests_.put(request);
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
        Request* prologue = requests_.take();
        prologue->internal = true;
        auto* data = reinterpret_cast<std::byte*>(&fact);
        prologue->call = {{}, data, data};
        Signature& signature = prologue->call.signature;
        signature.kind = Kind::allreduce;
        signature.count = 1;
        signature.type = BATCHAI_COLL_INT64;
        signature.op = static_cast<std::uint8_t>(op);
        requests_.put(prologue);
    };
    find(facts.longest, BATCHAI_COLL_MAX);
    find(facts.balance, BATCHAI_COLL_SUM);
}

batchai_coll_status Engine::conclude(Request* request) {
    requests_.give_back(request);
    return request->status;
}

batchai_coll_status Engine::test(Request* request) {
    moved_ = request->status != BATCHAI_COLL_IN_PROGRESS || advance() != Step::idle;
    if (!moved_) {
        idle_.steps = kStepsPerWatch;
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
    return context_.wire_time(static_cast<double>(std::min(whole, context_.chunk_bytes(whole))));
}

// Not by this rank's wire: only ranks that are rails have one.
std::chrono::nanoseconds Engine::allreduce_time(std::size_t bytes) const {
    const double nodes = context_.topology.nodes();
    return context_.wire_time(2 * (nodes - 1) / nodes * static_cast<double>(bytes));
}

// Makes the oldest request the current operation. False: a failure was reported meanwhile.
bool Engine::begin_first() {
    if (const auto failure = reports_.here()) {
        fail(*failure, true);
        return false;
    }
    const Call& call = requests_.first()->call;
    current_ = &operation_for(call);
    current_->begin(call, ++operations_, chunks_);
    progress_.begin(operations_, call.signature);
    if (context_.fault != nullptr) context_.fault->reach(operations_, 0);
    return true;
}

// The first step of an operation posts its messages before the wire makes progress. Progress takes
// a system call, and a message that arrives before its receive is posted is copied once more.
Step Engine::advance() {
    if (requests_.first() == nullptr) return Step::idle;
    const bool begins = current_ == nullptr;
    if (begins && !begin_first()) return Step::failed;
    const bool received = !begins && context_.wire != nullptr && context_.wire->progress();
    const Step step = current_->step();
    if (step == Step::failed) fail(current_->failure(), true);
    if (step == Step::done) complete_first();
    if (step == Step::idle) return received ? Step::moved : Step::idle;
    if (step == Step::moved) progress_.move();
    idle_ = {};
    return step;
}

void Engine::complete_first() {
    chunks_ += current_->chunks();
    current_ = nullptr;
    progress_.complete();
    requests_.end_first(BATCHAI_COLL_OK);
}

// Called after a step without progress.
void Engine::watch() {
    if (requests_.first() == nullptr || ++idle_.steps < kStepsPerWatch) return;
    idle_.steps = 0;
    const auto now = Clock::now();
    if (!idle_.since) idle_.since = now;
    const auto idle = now - *idle_.since;
    if (now - looked_at_ >= kLookEvery) {
        looked_at_ = now;
        const auto report = reports_.look(operations_, current_->call().signature, idle);
        if (report) return fail(report->failure, !report->reported);
        current_->find_missing(missing_);
        progress_.wait_for(missing_.ranks, missing_.certain);
    }
    if (timeout_ > 0s) give_up_on(idle);
}

// Ranks on the node of the missing rank report first: the others know only the node.
void Engine::give_up_on(std::chrono::nanoseconds idle) {
    if (idle < timeout_) return;
    const Missing missing = current_->waiting_for();
    if (!missing.certain && idle < timeout_ + 1s) return;
    fail({BATCHAI_COLL_ERR_TIMEOUT,
          fmt::format("{}: {} did not arrive within {} s; BATCHAI_COLL_TIMEOUT sets the limit",
                      describe(*requests_.first(), operations_), coll::describe(missing),
                      std::chrono::duration<double>(timeout_).count())},
         true);
}

bool Engine::has_failed() {
    if (failure_.status != BATCHAI_COLL_OK) return true;
    if (context_.wire != nullptr) context_.wire->progress();
    if (const auto report = reports_.take()) fail(report->failure, !report->reported);
    return failure_.status != BATCHAI_COLL_OK;
}

// The operations that have not ended, as the end of a message.
std::string Engine::describe_waiting() const {
    constexpr int kMost = 4;
    std::string text;
    std::uint64_t number = current_ == nullptr ? operations_ + 1 : operations_;
    int listed = 0;
    for (const Request* it = requests_.first(); it != nullptr; it = it->next, ++number, ++listed) {
        if (listed < kMost) text += (listed == 0 ? "; waiting: " : "; ") + describe(*it, number);
    }
    if (listed > kMost) text += fmt::format("; and {} more", listed - kMost);
    return text;
}

// Messages about mismatches and timeouts name their operations. The message about a lost rank does
// not, so this function adds the pending operations.
void Engine::fail(const Failure& failure, bool tell) {
    failure_ = context_.node.fail(failure);
    if (tell) reports_.tell(failure_);
    if (failure_.status == BATCHAI_COLL_ERR_PEER || failure_.status == BATCHAI_COLL_ERR_ABORTED) {
        failure_.sentence += describe_waiting();
    }
    abandon();
    progress_.leave();
    while (requests_.first() != nullptr) requests_.end_first(failure_.status);
}

// Only a system error of this rank may be a consequence. Other failures name the rank that caused
// them.
void Engine::fail_unless_reported(const Failure& failure) {
    const bool waits = failure.status == BATCHAI_COLL_ERR_SYSTEM;
    const auto deadline =
        Clock::now() + (waits ? std::min(reports_.patience(), kMostPatience) : 0ms);
    Backoff backoff;
    while (!has_failed()) {
        if (Clock::now() >= deadline) return fail(failure, true);
        backoff.pause();
    }
}

}  // namespace batchai::coll
