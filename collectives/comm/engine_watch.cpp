// SPDX-License-Identifier: Apache-2.0
//
// Engine: its checks while nothing makes progress, and its failures.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "collectives/comm/engine.hpp"

namespace batchai::coll {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookEvery = 10ms;
constexpr auto kSayAfter = 100ms;
constexpr std::chrono::milliseconds kMostPatience = 1s;  // in a call that should not wait

}  // namespace

// Called after a step without progress.
void Engine::watch() {
    if (first_ == nullptr || ++idle_steps_ < kStepsPerWatch) return;
    idle_steps_ = 0;
    const auto now = Clock::now();
    if (!idle_since_) idle_since_ = now;
    if (now - looked_at_ >= kLookEvery) {
        looked_at_ = now;
        bool told = false;
        if (const auto failure = look(&told)) return fail(*failure, !told);
        current_->find_missing(missing_);
        progress_.wait_for(missing_.ranks, missing_.certain);
    }
    if (timeout_ > 0s) give_up_on(now - *idle_since_);
}

// Ranks on the node of the missing rank report first: the others know only the node.
void Engine::give_up_on(std::chrono::nanoseconds idle) {
    if (idle < timeout_) return;
    const Missing missing = current_->waiting_for();
    if (!missing.certain && idle < timeout_ + 1s) return;
    fail({BATCHAI_COLL_ERR_TIMEOUT,
          fmt::format("{}: {} did not arrive within {} s; BATCHAI_COLL_TIMEOUT sets the limit",
                      describe(*first_, operations_), coll::describe(missing),
                      std::chrono::duration<double>(timeout_).count())},
         true);
}

// The failure of this node, or of the job's communicator if this one has only some of its ranks.
std::optional<Failure> Engine::word_here() const {
    if (context_.node.failed()) return context_.node.failure();
    if (context_.job != nullptr && context_.job->failed()) return context_.job->failure();
    return std::nullopt;
}

// *told: the other nodes know the failure already.
std::optional<Failure> Engine::word_of_others(bool* told) {
    if (context_.wire != nullptr) {
        if (const auto note = context_.wire->take_note(Note::failed)) {
            *told = true;
            return Failure{static_cast<batchai_coll_status>(static_cast<signed char>((*note)[0])),
                           note->substr(1)};
        }
    }
    return word_here();
}

bool Engine::has_failed() {
    if (failure_.status != BATCHAI_COLL_OK) return true;
    if (context_.wire != nullptr) context_.wire->progress();
    bool told = false;
    if (const auto failure = word_of_others(&told)) fail(*failure, !told);
    return failure_.status != BATCHAI_COLL_OK;
}

// Reports of other ranks come first, because they name the cause. A broken connection does not.
std::optional<Failure> Engine::look(bool* told) {
    if (auto failure = word_of_others(told)) return failure;
    if (auto failure = look_for_mismatches()) return failure;
    auto failure = look_for_losses();
    if (!failure) return std::nullopt;
    const auto better = word_of_others(told);
    return better ? better : failure;
}

// Ranks that call different operations may wait for each other without any message between them. So
// each node that has waited for a while sends its operation to rank 0, which compares.
std::optional<Failure> Engine::look_for_mismatches() {
    const Topology& topology = context_.topology;
    if (context_.wire == nullptr || topology.local_rank() != 0) return std::nullopt;
    if (topology.node() != 0) {
        say_what_is_called();
        return std::nullopt;
    }
    while (const auto note = context_.wire->take_note(Note::entered)) {
        Entered entered;
        if (note->size() != sizeof entered) continue;
        std::memcpy(&entered, note->data(), sizeof entered);
        entered_[topology.node_of[entered.rank]] = entered;
    }
    const Signature& own = current_->call().signature;
    for (const Entered& other : entered_) {
        if (other.operation != operations_ || other.signature == own) continue;
        return Failure{
            BATCHAI_COLL_ERR_MISMATCH,
            fmt::format("operation {}: ranks disagree: rank {} calls {}, rank {} calls {}",
                        operations_, topology.rank, coll::describe(own), other.rank,
                        coll::describe(other.signature))};
    }
    return std::nullopt;
}

void Engine::say_what_is_called() {
    if (said_ == operations_ || Clock::now() - *idle_since_ < kSayAfter) return;
    said_ = operations_;
    const Entered own{operations_, current_->call().signature, context_.topology.rank};
    context_.wire->send_note(0, Note::entered, {reinterpret_cast<const char*>(&own), sizeof own});
}

std::optional<Failure> Engine::look_for_losses() {
    if (context_.wire == nullptr || !context_.wire->lost()) return std::nullopt;
    const auto now = Clock::now();
    if (!lost_at_) lost_at_ = now;
    if (now - *lost_at_ < patience_) return std::nullopt;
    const auto& loss = *context_.wire->lost();
    return Failure{BATCHAI_COLL_ERR_PEER,
                   fmt::format("lost the connection to rank {}: {}",
                               context_.topology.rail_rank(loss.node), loss.why)};
}

// "operation 7, allreduce (sum) of 5 float32 (grad.3)"
std::string Engine::describe(const Request& request, std::uint64_t number) {
    const std::string what =
        fmt::format("operation {}, {}", number, coll::describe(request.call.signature));
    return request.label[0] == '\0' ? what : fmt::format("{} ({})", what, request.label);
}

// The operations that have not ended, as the end of a message.
std::string Engine::describe_waiting() const {
    constexpr int kMost = 4;
    std::string text;
    std::uint64_t number = current_ == nullptr ? operations_ + 1 : operations_;
    int listed = 0;
    for (const Request* it = first_; it != nullptr; it = it->next, ++number, ++listed) {
        if (listed < kMost) text += (listed == 0 ? "; waiting: " : "; ") + describe(*it, number);
    }
    if (listed > kMost) text += fmt::format("; and {} more", listed - kMost);
    return text;
}

// Messages about mismatches and timeouts name their operations. The message about a lost rank does
// not, so this function adds the pending operations.
void Engine::fail(const Failure& failure, bool tell) {
    failure_ = context_.node.fail(failure);
    if (tell && context_.wire != nullptr) {
        const std::string text = static_cast<char>(failure_.status) + failure_.sentence;
        for (int node = 0; node < context_.topology.nodes(); ++node) {
            if (node == context_.topology.node()) continue;
            context_.wire->send_note(node, Note::failed, text);
        }
        context_.wire->send_out_notes();
    }
    if (failure_.status == BATCHAI_COLL_ERR_PEER || failure_.status == BATCHAI_COLL_ERR_ABORTED) {
        failure_.sentence += describe_waiting();
    }
    abandon();
    progress_.leave();
    while (first_ != nullptr) end(dequeue(), failure_.status);
}

// Only a system error of this rank may be a consequence. Other failures name the rank that caused
// them.
void Engine::fail_unless_told(const Failure& failure) {
    const bool waits = failure.status == BATCHAI_COLL_ERR_SYSTEM;
    const auto deadline = Clock::now() + (waits ? std::min(patience_, kMostPatience) : 0ms);
    Backoff backoff;
    while (!has_failed()) {
        if (Clock::now() >= deadline) return fail(failure, true);
        backoff.pause();
    }
}

}  // namespace batchai::coll
