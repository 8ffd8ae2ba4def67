// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/negotiation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_set>

#include "sys/codec.hpp"

namespace batchai::coll {
namespace {

// Flags, before the bytes of the response cache. The minimum is nonzero only if all ranks have set
// the flag.
enum Vote : std::size_t {
    known,
    blocked,
    stuck,
    closing,
    content,
    unnamed,  // an operation without a name is pending
    digest,
    sum = digest + 16,
    first_number = sum + 16,  // number of the first operation without a name
    first_key = first_number + 16
};
constexpr std::size_t kVotes = first_key + 16;

// Stores a value and its complement. Their minima are complements only if all ranks have the same
// value.
void put(std::uint8_t* to, std::uint64_t value) {
    const std::uint64_t both[] = {value, ~value};
    std::memcpy(to, both, sizeof both);
}

bool is_everybodys(const std::uint8_t* from) {
    std::uint64_t both[2];
    std::memcpy(both, from, sizeof both);
    return both[0] == ~both[1];
}

}  // namespace

Negotiation::Negotiation(Engine& engine, const Topology& topology, ResponseCache& cache,
                         std::vector<int> numbers)
    : engine_(engine), topology_(topology), cache_(cache), numbers_(std::move(numbers)) {
    votes_.reserve(kVotes + cache.capacity());
}

void Negotiation::begin(const std::vector<Submission*>& pending, const State& state) {
    pending_ = pending;
    state_ = state;
    outcome_.start.clear();
    outcome_.fail.clear();
    outcome_.settled = outcome_.all_closing = outcome_.judged = false;
    outcome_.stall.clear();
    zeros_.clear();
    joined_ = std::any_of(pending.begin(), pending.end(),
                          [](const Submission* submission) { return submission->join; });
    if (!joined_) seen_ = 0;
    vote();
}

void Negotiation::vote() {
    const std::size_t names = kVotes + cache_.size();
    votes_.assign(names + cache_.shared_names(), 0);
    std::uint64_t hash = pending_.size(), unordered = 0;
    bool all_known = !joined_;
    for (Submission* submission : pending_) {
        hash = (hash ^ submission->hash) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
        unordered += submission->hash;
        cache_.identify(*submission);
        if (submission->id < 0) {
            all_known = false;
        } else {
            std::uint8_t& votes = votes_[kVotes + static_cast<std::size_t>(submission->id)];
            votes = static_cast<std::uint8_t>(std::min(votes + 1, 255));
            const int name = cache_.shared_name(submission->id);
            if (name >= 0) votes_[names + static_cast<std::size_t>(name)] = 1;
        }
    }
    votes_[known] = all_known;
    votes_[blocked] = state_.blocked;
    votes_[stuck] = state_.stuck;
    votes_[closing] = state_.closing;
    votes_[content] = !state_.wants_report;
    put(&votes_[digest], hash);
    put(&votes_[sum], unordered);
    const auto first =
        std::find_if(pending_.begin(), pending_.end(),
                     [](const Submission* submission) { return !submission->named; });
    votes_[unnamed] = first != pending_.end();
    if (first != pending_.end()) {
        put(&votes_[first_number], hash_of((*first)->name()));
        put(&votes_[first_key], hash_of((*first)->key));
    }

    Signature signature;
    signature.kind = Kind::allreduce;
    signature.count = votes_.size();
    signature.op = BATCHAI_COLL_MIN;
    auto* data = reinterpret_cast<std::byte*>(votes_.data());
    stage_ = Stage::voting;
    request_ = engine_.start({signature, data, data});
}

Step Negotiation::step() {
    const auto status = engine_.test(request_);
    if (status == BATCHAI_COLL_IN_PROGRESS) return engine_.has_moved() ? Step::moved : Step::idle;
    const Stage ended = stage_;
    stage_ = Stage::none;
    if (status != BATCHAI_COLL_OK) return Step::failed;
    if (ended == Stage::voting) count_votes();
    if (ended == Stage::counting) say_requests();
    if (ended == Stage::reading) read_requests();
    if (stage_ != Stage::none) return Step::moved;
    if (engine_.failure().status != BATCHAI_COLL_OK) return Step::failed;
    sort_by_priority();
    return Step::done;
}

void Negotiation::count_votes() {
    outcome_.all_closing = votes_[closing] != 0;
    if (outcome_.all_closing) return;
    outcome_.settled = votes_[blocked] != 0 && is_everybodys(&votes_[sum]);
    if (is_everybodys(&votes_[digest]) && !pending_.empty() && !joined_) {
        PendingRequests own;
        outcome_.start = pending_;
        if (votes_[known] != 0) return;
        for (const Submission* submission : pending_) own.keys.push_back(submission->key);
        return learn({std::move(own)});
    }
    if (votes_[known] != 0 && finds_disagreement()) return say_length();
    if (votes_[known] != 0 && votes_[content] != 0) start_ready();
    if (outcome_.start.empty() && (votes_[known] == 0 || votes_[content] == 0 ||
                                   votes_[stuck] != 0 || unnamed_ones_differ())) {
        say_length();
    }
}

// Whether a caller waits on each rank, and the first operations without a name have the same number
// on all ranks but are different operations. The n-th such operation of a rank belongs to the n-th
// of the other ranks.
bool Negotiation::unnamed_ones_differ() const {
    return votes_[blocked] != 0 && votes_[unnamed] != 0 && is_everybodys(&votes_[first_number]) &&
           !is_everybodys(&votes_[first_key]);
}

// Whether all ranks have an operation with the same name pending, but not the same operation.
bool Negotiation::finds_disagreement() const {
    const std::uint8_t* names = votes_.data() + kVotes + cache_.size();
    const std::size_t count = cache_.shared_names();
    if (std::none_of(names, names + count, [](std::uint8_t vote) { return vote != 0; }))
        return false;
    std::vector<bool> agreed(count);
    for (std::size_t id = 0; id < cache_.size(); ++id) {
        const int name = cache_.shared_name(static_cast<int>(id));
        if (name >= 0 && votes_[kVotes + id] != 0) agreed[static_cast<std::size_t>(name)] = true;
    }
    for (std::size_t name = 0; name < count; ++name) {
        if (names[name] != 0 && !agreed[name]) return true;
    }
    return false;
}

void Negotiation::start_ready() {
    for (Submission* submission : pending_) {
        std::uint8_t& votes = votes_[kVotes + static_cast<std::size_t>(submission->id)];
        if (votes == 0) continue;
        --votes;
        outcome_.start.push_back(submission);
    }
    std::sort(outcome_.start.begin(), outcome_.start.end(),
              [](const Submission* a, const Submission* b) {
                  return a->id != b->id ? a->id < b->id : a->order < b->order;
              });
}

void Negotiation::say_length() {
    PendingRequests own{state_.stuck, state_.closing, {}, seen_};
    for (const Submission* submission : pending_) own.keys.push_back(submission->key);
    own_ = sys::encode(own);
    lengths_.assign(static_cast<std::size_t>(topology_.size), own_.size());
    Signature signature;
    signature.kind = Kind::allgather;
    signature.count = 1;
    signature.type = BATCHAI_COLL_INT64;
    auto* lengths = reinterpret_cast<std::byte*>(lengths_.data());
    stage_ = Stage::counting;
    request_ = engine_.start(
        {signature, lengths + static_cast<std::size_t>(topology_.rank) * sizeof lengths_[0],
         lengths});
}

void Negotiation::say_requests() {
    Signature signature;
    signature.kind = Kind::allgather;
    signature.count = std::accumulate(lengths_.begin(), lengths_.end(), std::size_t{0});
    everything_.resize(signature.count);
    stage_ = Stage::reading;
    request_ = engine_.start({signature, reinterpret_cast<const std::byte*>(own_.data()),
                              reinterpret_cast<std::byte*>(everything_.data()), lengths_});
}

void Negotiation::read_requests() {
    std::vector<PendingRequests> requests;
    std::string_view rest = everything_;
    for (std::size_t r = 0; r < lengths_.size(); ++r) {
        auto other = sys::decode_whole<PendingRequests>(rest.substr(0, lengths_[r]));
        if (!other) {
            return engine_.fail(
                {BATCHAI_COLL_ERR_SYSTEM,
                 fmt::format("cannot decode the operations of rank {}", numbers_[r])},
                true);
        }
        requests.push_back(*std::move(other));
        rest.remove_prefix(lengths_[r]);
    }
    const std::vector<Verdict> verdicts = judge(requests, numbers_);
    if (joined_ && !verdicts.empty()) ++seen_;
    for (const Verdict& verdict : verdicts) {
        const auto found =
            std::find_if(pending_.begin(), pending_.end(),
                         [&](const Submission* mine) { return mine->key == verdict.key; });
        if (found == pending_.end()) {  // only other ranks have it
            if (verdict.sentence.empty()) take_part(verdict.key);
        } else if (verdict.sentence.empty()) {
            if ((*found)->join) *static_cast<int*>((*found)->argument) = last_to_join(requests);
            outcome_.start.push_back(*found);
        } else {
            outcome_.fail.push_back({*found, verdict.sentence});
        }
    }
    if (votes_[content] == 0) outcome_.stall = describe_stall(requests, numbers_);
    learn(requests);
}

// Takes part with zeros in an operation of other ranks, because this rank has joined.
void Negotiation::take_part(const std::string& key) {
    outcome_.start.push_back(&zeros_.emplace_back(zeros_for(key)).submission);
}

void Negotiation::learn(const std::vector<PendingRequests>& requests) {
    outcome_.judged = true;
    std::vector<std::string_view> keys;
    std::unordered_set<std::string_view> seen;
    for (const PendingRequests& own : requests) {
        for (const std::string& key : own.keys) {
            const std::string_view identity = identity_of(key);
            if (seen.insert(identity).second) keys.push_back(identity);
        }
    }
    if (!cache_.has_room_for(keys.size())) cache_.clear();
    for (const std::string_view key : keys) {
        if (cache_.has_room_for(1)) cache_.add(key);
    }
    for (Submission* submission : pending_) cache_.identify(*submission);
}

// An insertion sort: few operations have a higher priority than the others. It is stable.
void Negotiation::sort_by_priority() {
    std::vector<Submission*>& start = outcome_.start;
    for (std::size_t i = 1; i < start.size(); ++i) {
        for (std::size_t j = i; j > 0 && start[j]->priority > start[j - 1]->priority; --j) {
            std::swap(start[j], start[j - 1]);
        }
    }
}

}  // namespace batchai::coll
