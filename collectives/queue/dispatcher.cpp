// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/dispatcher.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace batchai::coll {
namespace {

using namespace std::chrono_literals;

// Pauses between rounds that have started nothing, while this rank has no new submissions: other
// ranks may have some.
constexpr std::chrono::nanoseconds kFirstPause = 50us, kLongestPause = 5ms;
// With several callers: how long one waits until the others are not expected to submit more either.
constexpr std::chrono::nanoseconds kLongestWait = 60s;

}  // namespace

Dispatcher::Dispatcher(Engine& engine, Progress& progress, const Topology& topology,
                       Listener& listener, Options options)
    : engine_(engine),
      progress_(progress),
      topology_(topology),
      listener_(listener),
      options_(std::move(options)),
      cache_(options_.cache_capacity),
      negotiation_(engine, topology, cache_, options_.numbers),
      fusion_tuner_(options_.fusion_bytes, options_.tune_fusion),
      cycle_tuner_(static_cast<std::size_t>(options_.cycle.count()), options_.tune_cycle),
      by_id_(options_.cache_capacity, nullptr) {
    // The first candidate is used as long as there is nothing to time.
    cycle_tuner_.begin({cycle_tuner_.value(), 0, 100'000, 2'000'000, 10'000'000});
}

void Dispatcher::add(Submission* submission, Clock::time_point now) {
    submission->since = now;
    submission->in_line = true;
    submission->order = ++submitted_;
    cache_.identify(*submission);
    if (line_.empty() && options_.stall > 0s) report_at_ = now + options_.stall;
    line_.push_back(submission);
    line_bytes_ += bytes_of(submission->parts);
    index(submission);
    fresh_ = true;
}

void Dispatcher::index(Submission* submission) {
    submission->next_alike = nullptr;
    if (submission->id < 0) return;
    Submission** last = &by_id_[static_cast<std::size_t>(submission->id)];
    while (*last != nullptr) last = &(*last)->next_alike;
    *last = submission;
}

void Dispatcher::set_blocked(bool blocked, bool alone) {
    if (blocked && !blocked_) {
        fresh_ = true;
        blocked_since_ = Clock::now();
    }
    blocked_ = blocked;
    alone_ = alone;
}

bool Dispatcher::is_stuck(Clock::time_point now) const {
    return closing_ ||
           (blocked_ && now >= blocked_since_ + (alone_ ? options_.patience : kLongestWait));
}

void Dispatcher::close() {
    closing_ = fresh_ = true;
}

Step Dispatcher::step() {
    if (engine_.failure().status != BATCHAI_COLL_OK) {
        fail_everything(engine_.failure());
        return Step::idle;
    }
    if (!is_under_way()) return choose();
    Step step = Step::idle;
    if (negotiation_.under_way()) {
        step = negotiate();
    } else if (request_ != nullptr) {
        step = await_request();
    } else {
        step = on_device_ ? await_device() : start_message();
    }
    if (step == Step::idle && report_at_ != Clock::time_point::max()) report_missing();
    return step;
}

// This rank waits for an operation that other ranks have not submitted. Only one of the waiting
// ranks reports it.
void Dispatcher::report_missing() {
    const auto now = Clock::now();
    if (now < report_at_) return;
    if (line_.size() == 1 && line_.front()->join) return;  // the others still have data
    report_at_ = now + options_.stall;
    const Missing missing = engine_.waiting_for();
    int speaker = 0;
    for (const int rank : missing.ranks) speaker += rank == speaker;
    if (missing.ranks.empty() || speaker != topology_.rank) return;
    Missing named = missing;
    for (int& rank : named.ranks) rank = options_.numbers[static_cast<std::size_t>(rank)];
    listener_.on_stall(fmt::format("{}: not submitted by {}", label_, describe(named)));
}

void Dispatcher::fail_everything(const Failure& failure) {
    closed_ = closing_;
    request_ = nullptr;
    on_device_ = false;
    negotiation_.abandon();
    if (in_bucket_) together_.clear();  // its submissions are still in line
    in_bucket_ = false;
    tuning_ = nullptr;
    if (!together_.empty()) listener_.on_ended(together_, &failure);
    together_.clear();
    for (const auto& together : batch_) listener_.on_ended(together, &failure);
    batch_.clear();
    const std::vector<Submission*> line = line_;
    leave_line(line);
    if (!line.empty()) listener_.on_ended(line, &failure);
}

std::optional<Dispatcher::Rest> Dispatcher::rest() const {
    if (is_under_way()) return std::nullopt;
    Rest rest;
    if (schedule_.is_frozen()) {
        if (!line_.empty()) rest.until = line_.front()->since + options_.patience;
        rest.submissions = std::max<std::size_t>(1, missing_of_bucket());
        return rest;
    }
    if (closed_ || (line_.empty() && !closing_)) return rest;
    rest.until = fresh_ && !line_.empty() ? line_.front()->since + cycle() : retry_at_;
    rest.submissions = fresh_ ? options_.cache_capacity : 1;
    if (options_.fusion_bytes > line_bytes_) rest.bytes = options_.fusion_bytes - line_bytes_;
    return rest;
}

// Call it before on_ended(): after that, a caller may reuse the memory for its next operation.
void Dispatcher::leave_line(const std::vector<Submission*>& submissions) {
    for (Submission* submission : submissions) {
        submission->in_line = false;
        if (submission->id < 0) continue;
        Submission** place = &by_id_[static_cast<std::size_t>(submission->id)];
        while (*place != submission) place = &(*place)->next_alike;
        *place = submission->next_alike;
    }
    std::erase_if(line_, [](const Submission* submission) { return !submission->in_line; });
    line_bytes_ = 0;
    for (const Submission* submission : line_) line_bytes_ += bytes_of(submission->parts);
    report_at_ = line_.empty() || options_.stall == 0s ? Clock::time_point::max()
                                                       : line_.front()->since + options_.stall;
}

Step Dispatcher::choose() {
    while (closing_ && !line_.empty()) {
        const std::vector<Submission*> last{line_.back()};
        const Failure failure{BATCHAI_COLL_ERR_PEER,
                              fmt::format("shut down before {} was synchronized", last[0]->name())};
        leave_line(last);
        listener_.on_ended(last, &failure);
    }
    if (closed_ || (line_.empty() && !closing_)) return Step::idle;
    if (schedule_.is_frozen()) return follow_schedule();
    const auto now = Clock::now();
    if (!is_due(now)) return Step::idle;
    begin_round(now);
    return Step::moved;
}

bool Dispatcher::is_due(Clock::time_point now) const {
    if (!fresh_) return now >= retry_at_;
    return closing_ || blocked_ || line_bytes_ >= options_.fusion_bytes ||
           line_.size() >= options_.cache_capacity || now >= line_.front()->since + cycle();
}

void Dispatcher::begin_round(Clock::time_point now) {
    if (fresh_) pause_ = 0s;
    fresh_ = false;
    const bool wants_report = now >= report_at_;
    if (wants_report) report_at_ = now + options_.stall;
    if (!line_.empty()) show(line_);
    listener_.on_negotiation(true);
    negotiation_.begin(line_, {blocked_ || closing_, is_stuck(now), closing_, wants_report});
}

Step Dispatcher::negotiate() {
    const Step step = negotiation_.step();
    if (step == Step::done) take_outcome();
    return step == Step::failed || step == Step::done ? Step::moved : step;
}

void Dispatcher::take_outcome() {
    const Outcome& outcome = negotiation_.outcome();
    listener_.on_negotiation(false);
    closed_ = outcome.all_closing;
    if (!outcome.stall.empty() && topology_.rank == 0) listener_.on_stall(outcome.stall);
    if (outcome.judged) {
        schedule_.forget();
        std::fill(by_id_.begin(), by_id_.end(), nullptr);
        for (Submission* submission : line_) {
            cache_.identify(*submission);
            index(submission);
        }
    }
    for (const Outcome::Failed& failed : outcome.fail) {
        const Failure failure{BATCHAI_COLL_ERR_MISMATCH, failed.sentence};
        const std::vector<Submission*> one{failed.submission};
        leave_line(one);
        listener_.on_ended(one, &failure);
    }
    if (outcome.start.empty() && outcome.fail.empty()) {
        pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
        retry_at_ = Clock::now() + pause_;
        return;
    }
    fresh_ = true;
    if (outcome.start.empty()) return;
    leave_line(outcome.start);
    listener_.on_agreed(outcome.start);
    make_messages(outcome.start);
    time_round(outcome);
    schedule_.started(outcome.start, outcome.settled, options_.cache_capacity);
    if (schedule_.may_freeze()) freeze();
}

void Dispatcher::make_messages(const std::vector<Submission*>& start) {
    std::vector<Item> items;
    for (const Submission* submission : start) {
        items.push_back({fusion_key(*submission), bytes_of(submission->parts), 0});
    }
    for (const Fused& group : fuse(items, options_.fusion_bytes)) {
        std::vector<Submission*>& together = batch_.emplace_back();
        for (const std::uint32_t i : group) together.push_back(start[i]);
    }
}

}  // namespace batchai::coll
