// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/negotiation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_set>

namespace batchai::coll {
namespace {

// What is voted on, before the bytes of the response cache. Minima: all ranks agree to it.
enum Vote : std::size_t { known, blocked, stuck, closing, content, digest, sum = digest + 16 };
constexpr std::size_t kVotes = sum + 16;

// A value and its complement, whose minima fit together only where all ranks have the same value.
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

void Negotiation::begin(const std::vector<Submission*>& line, const State& state) {
    line_ = line;
    state_ = state;
    outcome_.start.clear();
    outcome_.fail.clear();
    outcome_.settled = outcome_.all_closing = outcome_.judged = false;
    outcome_.stall.clear();
    vote();
}

void Negotiation::vote() {
    votes_.assign(kVotes + cache_.size(), 0);
    std::uint64_t hash = line_.size(), unordered = 0;
    bool all_known = true;
    for (Submission* submission : line_) {
        hash = (hash ^ submission->hash) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
        unordered += submission->hash;
        cache_.identify(*submission);
        if (submission->id < 0) {
            all_known = false;
        } else {
            std::uint8_t& votes = votes_[kVotes + static_cast<std::size_t>(submission->id)];
            votes = static_cast<std::uint8_t>(std::min(votes + 1, 255));
        }
    }
    votes_[known] = all_known;
    votes_[blocked] = state_.blocked;
    votes_[stuck] = state_.stuck;
    votes_[closing] = state_.closing;
    votes_[content] = !state_.wants_report;
    put(&votes_[digest], hash);
    put(&votes_[sum], unordered);

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
    if (ended == Stage::counting) say_line();
    if (ended == Stage::reading) read_lines();
    if (stage_ != Stage::none) return Step::moved;
    if (engine_.failure().status != BATCHAI_COLL_OK) return Step::failed;
    sort_by_priority();
    return Step::done;
}

void Negotiation::count_votes() {
    outcome_.all_closing = votes_[closing] != 0;
    if (outcome_.all_closing) return;
    outcome_.settled = votes_[blocked] != 0 && is_everybodys(&votes_[sum]);
    if (is_everybodys(&votes_[digest]) && !line_.empty()) {
        Line line;
        outcome_.start = line_;
        if (votes_[known] != 0) return;
        for (const Submission* submission : line_) line.keys.push_back(submission->key);
        return learn({std::move(line)});
    }
    if (votes_[known] != 0 && votes_[content] != 0) start_ready();
    if (outcome_.start.empty() &&
        (votes_[known] == 0 || votes_[content] == 0 || votes_[stuck] != 0)) {
        say_length();
    }
}

void Negotiation::start_ready() {
    for (Submission* submission : line_) {
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
    Line line{state_.stuck, state_.closing, {}};
    for (const Submission* submission : line_) line.keys.push_back(submission->key);
    own_ = line.bytes();
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

void Negotiation::say_line() {
    Signature signature;
    signature.kind = Kind::allgather;
    signature.count = std::accumulate(lengths_.begin(), lengths_.end(), std::size_t{0});
    everything_.resize(signature.count);
    stage_ = Stage::reading;
    request_ = engine_.start({signature, reinterpret_cast<const std::byte*>(own_.data()),
                              reinterpret_cast<std::byte*>(everything_.data()), lengths_});
}

void Negotiation::read_lines() {
    std::vector<Line> lines(lengths_.size());
    std::string_view rest = everything_;
    for (std::size_t r = 0; r < lines.size(); ++r) {
        if (!lines[r].read(rest.substr(0, lengths_[r]))) {
            return engine_.fail(
                {BATCHAI_COLL_ERR_SYSTEM,
                 fmt::format("what rank {} has in line cannot be read", numbers_[r])},
                true);
        }
        rest.remove_prefix(lengths_[r]);
    }
    for (const Verdict& verdict : judge(lines, numbers_)) {
        const auto found = std::find_if(line_.begin(), line_.end(), [&](const Submission* mine) {
            return mine->key == verdict.key;
        });
        if (found == line_.end()) continue;  // another rank's, which fails there
        if (verdict.sentence.empty()) {
            outcome_.start.push_back(*found);
        } else {
            outcome_.fail.push_back({*found, verdict.sentence});
        }
    }
    if (votes_[content] == 0) outcome_.stall = describe_stall(lines, numbers_);
    learn(lines);
}

void Negotiation::learn(const std::vector<Line>& lines) {
    outcome_.judged = true;
    std::vector<std::string_view> keys;
    std::unordered_set<std::string_view> seen;
    for (const Line& line : lines) {
        for (const std::string& key : line.keys) {
            const std::string_view identity = identity_of(key);
            if (seen.insert(identity).second) keys.push_back(identity);
        }
    }
    if (!cache_.has_room_for(keys.size())) cache_.clear();
    for (const std::string_view key : keys) {
        if (cache_.has_room_for(1)) cache_.add(key);
    }
    for (Submission* submission : line_) cache_.identify(*submission);
}

// Few are more urgent than others. The order of the others stays.
void Negotiation::sort_by_priority() {
    std::vector<Submission*>& start = outcome_.start;
    for (std::size_t i = 1; i < start.size(); ++i) {
        for (std::size_t j = i; j > 0 && start[j]->priority > start[j - 1]->priority; --j) {
            std::swap(start[j], start[j - 1]);
        }
    }
}

}  // namespace batchai::coll
