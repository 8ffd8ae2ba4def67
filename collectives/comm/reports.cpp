// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/reports.hpp"

#include <fmt/format.h>

#include <cstring>

namespace batchai::coll {
namespace {

constexpr std::chrono::milliseconds kSayAfter(100);

}  // namespace

FailureReports::FailureReports(const Context& context, std::chrono::milliseconds patience)
    : context_(context), patience_(patience) {
    if (context_.topology.rank == 0) entered_.resize(context_.topology.nodes());
}

std::optional<Failure> FailureReports::here() const {
    if (context_.node.failed()) return context_.node.failure();
    if (context_.job != nullptr && context_.job->failed()) return context_.job->failure();
    return std::nullopt;
}

std::optional<FailureReports::Report> FailureReports::take() {
    if (context_.wire != nullptr) {
        if (const auto note = context_.wire->take_note(Note::failed)) {
            const auto status =
                static_cast<batchai_coll_status>(static_cast<signed char>((*note)[0]));
            return Report{{status, note->substr(1)}, true};
        }
    }
    if (auto failure = here()) return Report{*std::move(failure)};
    return std::nullopt;
}

// A broken connection does not name the cause, so reports are looked for once more.
std::optional<FailureReports::Report> FailureReports::look(std::uint64_t operation,
                                                           const Signature& signature,
                                                           std::chrono::nanoseconds idle) {
    if (auto report = take()) return report;
    if (auto failure = find_mismatch({operation, signature, context_.topology.rank}, idle)) {
        return Report{*std::move(failure)};
    }
    auto failure = find_loss();
    if (!failure) return std::nullopt;
    auto better = take();
    return better ? better : Report{*std::move(failure)};
}

// Ranks that call different operations may wait for each other without any message between them. So
// each node that has waited for a while sends its operation to rank 0, which compares.
std::optional<Failure> FailureReports::find_mismatch(const Entered& own,
                                                     std::chrono::nanoseconds idle) {
    const Topology& topology = context_.topology;
    if (context_.wire == nullptr || topology.local_rank() != 0) return std::nullopt;
    if (topology.node() != 0) {
        if (said_ == own.operation || idle < kSayAfter) return std::nullopt;
        said_ = own.operation;
        const std::string_view bytes(reinterpret_cast<const char*>(&own), sizeof own);
        context_.wire->send_note(0, Note::entered, bytes);
        return std::nullopt;
    }
    while (const auto note = context_.wire->take_note(Note::entered)) {
        Entered entered;
        if (note->size() != sizeof entered) continue;
        std::memcpy(&entered, note->data(), sizeof entered);
        entered_[topology.node_of[entered.rank]] = entered;
    }
    for (const Entered& other : entered_) {
        if (other.operation != own.operation || other.signature == own.signature) continue;
        return Failure{
            BATCHAI_COLL_ERR_MISMATCH,
            fmt::format("operation {}: ranks disagree: rank {} calls {}, rank {} calls {}",
                        own.operation, own.rank, describe(own.signature), other.rank,
                        describe(other.signature))};
    }
    return std::nullopt;
}

std::optional<Failure> FailureReports::find_loss() {
    if (context_.wire == nullptr || !context_.wire->lost()) return std::nullopt;
    const auto now = std::chrono::steady_clock::now();
    if (!lost_at_) lost_at_ = now;
    if (now - *lost_at_ < patience_) return std::nullopt;
    const auto& loss = *context_.wire->lost();
    return Failure{BATCHAI_COLL_ERR_PEER,
                   fmt::format("lost the connection to rank {}: {}",
                               context_.topology.rail_rank(loss.node), loss.why)};
}

void FailureReports::tell(const Failure& failure) const {
    if (context_.wire == nullptr) return;
    const std::string text = static_cast<char>(failure.status) + failure.sentence;
    for (int node = 0; node < context_.topology.nodes(); ++node) {
        if (node == context_.topology.node()) continue;
        context_.wire->send_note(node, Note::failed, text);
    }
    context_.wire->send_out_notes();
}

}  // namespace batchai::coll
