// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/dispatcher.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace batchai::coll {

Dispatcher::Dispatcher(Engine& engine, Progress& progress, const Topology& topology,
                       Listener& listener, Options options)
    : engine_(engine),
      topology_(topology),
      listener_(listener),
      options_(std::move(options)),
      cache_(options_.cache_capacity),
      negotiation_(engine, topology, cache_, options_.numbers),
      tuning_(options_.fusion_bytes, options_.tune_fusion, options_.cycle, options_.tune_cycle),
      requests_(cache_),
      rounds_(options_.fusion_bytes, options_.cache_capacity, options_.patience),
      stalls_(progress, options_.stall),
      message_(engine, options_.devices) {}

void Dispatcher::add(Submission* submission, Clock::time_point now) {
    submission->since = now;
    const bool first = requests_.empty();
    requests_.add(submission);
    if (first) stalls_.restart(requests_);
    rounds_.note_change();
}

void Dispatcher::close() {
    life_ = Life::closing;
    rounds_.leave();
}

Step Dispatcher::step() {
    if (engine_.failure().status != BATCHAI_COLL_OK) {
        fail_everything(engine_.failure());
        return Step::idle;
    }
    if (!is_under_way()) return choose();
    if (work_ == Work::none) return start_message();
    const Step step = work_ == Work::round ? negotiate() : await_message();
    if (step == Step::idle) report_missing();
    return step;
}

// This rank waits for an operation that other ranks have not submitted. Only one of the waiting
// ranks reports it.
void Dispatcher::report_missing() {
    const bool joined = requests_.all().size() == 1 && requests_.oldest()->join;
    if (joined || !stalls_.is_due()) return;  // joined: the others still have data
    const Missing missing = engine_.waiting_for();
    int speaker = 0;
    for (const int rank : missing.ranks) speaker += rank == speaker;
    if (missing.ranks.empty() || speaker != topology_.rank) return;
    Missing named = missing;
    for (int& rank : named.ranks) rank = options_.numbers[static_cast<std::size_t>(rank)];
    listener_.on_stall(fmt::format("{}: not submitted by {}", stalls_.label(), describe(named)));
}

void Dispatcher::fail_everything(const Failure& failure) {
    if (life_ == Life::closing) life_ = Life::closed;
    negotiation_.abandon();
    message_.abandon();
    // The submissions of a bucket are still pending.
    if (work_ == Work::message) listener_.on_ended(message_.submissions(), &failure);
    work_ = Work::none;
    for (const auto& together : batch_) listener_.on_ended(together, &failure);
    batch_.clear();
    const std::vector<Submission*> pending = requests_.all();
    remove(pending);
    if (!pending.empty()) listener_.on_ended(pending, &failure);
}

std::optional<IdleWait> Dispatcher::idle_wait() const {
    if (is_under_way()) return std::nullopt;
    if (schedule_.is_frozen()) {
        IdleWait wait;
        if (!requests_.empty()) wait.until = requests_.oldest()->since + options_.patience;
        wait.submissions = std::max<std::size_t>(1, requests_.missing(schedule_.next().ids));
        return wait;
    }
    if (has_closed() || (requests_.empty() && life_ == Life::open)) return IdleWait();
    return rounds_.wait(requests_, tuning_.cycle());
}

// Call it before on_ended(), as OwnRequests::remove().
void Dispatcher::remove(const std::vector<Submission*>& submissions) {
    requests_.remove(submissions);
    stalls_.restart(requests_);
}

Step Dispatcher::choose() {
    while (life_ != Life::open && !requests_.empty()) {
        const std::vector<Submission*> last{requests_.all().back()};
        const Failure failure{BATCHAI_COLL_ERR_PEER,
                              fmt::format("shut down before {} was synchronized", last[0]->name())};
        remove(last);
        listener_.on_ended(last, &failure);
    }
    if (has_closed() || (requests_.empty() && life_ == Life::open)) return Step::idle;
    if (schedule_.is_frozen()) return follow_schedule();
    const auto now = Clock::now();
    if (!rounds_.is_due(requests_, tuning_.cycle(), now)) return Step::idle;
    begin_round(now);
    return Step::moved;
}

void Dispatcher::begin_round(Clock::time_point now) {
    rounds_.begin_round();
    if (!requests_.empty()) stalls_.show(requests_.all());
    listener_.on_negotiation(true);
    work_ = Work::round;
    negotiation_.begin(requests_.all(), {rounds_.is_blocked(), rounds_.is_stuck(now),
                                         life_ != Life::open, stalls_.is_due()});
}

Step Dispatcher::negotiate() {
    const Step step = negotiation_.step();
    if (step == Step::done) {
        work_ = Work::none;
        take_outcome();
    }
    return step == Step::failed || step == Step::done ? Step::moved : step;
}

void Dispatcher::take_outcome() {
    const Outcome& outcome = negotiation_.outcome();
    listener_.on_negotiation(false);
    if (outcome.all_closing) life_ = Life::closed;
    if (!outcome.stall.empty() && topology_.rank == 0) listener_.on_stall(outcome.stall);
    if (outcome.judged) {
        schedule_.forget();
        requests_.identify();
    }
    for (const Outcome::Failed& failed : outcome.fail) {
        const Failure failure{BATCHAI_COLL_ERR_MISMATCH, failed.sentence};
        const std::vector<Submission*> one{failed.submission};
        remove(one);
        listener_.on_ended(one, &failure);
    }
    if (outcome.start.empty() && outcome.fail.empty()) return rounds_.retry_later();
    rounds_.note_change();
    if (outcome.start.empty()) return;
    remove(outcome.start);
    listener_.on_agreed(outcome.start);
    for (auto& together : fuse(outcome.start, options_.fusion_bytes)) {
        batch_.push_back(std::move(together));
    }
    if (tuning_.tunes_cycle()) tuning_.time_round(bytes_of(outcome.start), outcome.settled);
    agree_on_times();
    schedule_.started(outcome.start, outcome.settled, options_.cache_capacity);
    if (schedule_.may_freeze()) freeze();
}

Step Dispatcher::start_message() {
    std::vector<Submission*> together = std::move(batch_.front());
    batch_.pop_front();
    stalls_.show(together);
    listener_.on_started(together, bytes_of(together));
    work_ = Work::message;
    const Step step = message_.start(std::move(together));
    return step == Step::moved ? step : end_message(step);
}

// After a failure of the engine, the next step() ends all submissions.
Step Dispatcher::await_message() {
    const Step step = message_.step();
    return step == Step::done || step == Step::failed ? end_message(step) : step;
}

Step Dispatcher::end_message(Step step) {
    const Work work = std::exchange(work_, Work::none);
    if (work == Work::times) take_decision();
    if (work == Work::bucket) end_bucket();
    if (work == Work::message) {
        listener_.on_ended(message_.submissions(),
                           step == Step::done ? nullptr : &message_.failure());
    }
    return Step::moved;
}

Step Dispatcher::follow_schedule() {
    const bool complete = requests_.missing(schedule_.next().ids) == 0;
    if (!complete && !has_to_veto(Clock::now())) return Step::idle;
    start_bucket(!complete);
    return Step::moved;
}

// Whether this rank expects not to get all of the bucket's tensors.
bool Dispatcher::has_to_veto(Clock::time_point now) const {
    const std::vector<Submission*>& all = requests_.all();
    return rounds_.is_blocked() || now >= requests_.oldest()->since + options_.patience ||
           std::any_of(all.begin(), all.end(), [this](const Submission* submission) {
               return !schedule_.contains(submission->id);
           });
}

void Dispatcher::start_bucket(bool veto) {
    const Schedule::Bucket& bucket = schedule_.next();
    if (!veto) {
        message_.take(bucket, requests_);
        const std::vector<Submission*>& together = message_.submissions();
        stalls_.show(together);
        if (bucket.key) {
            listener_.on_started(together, bucket.elements * type_size(bucket.key->type));
        }
    }
    work_ = Work::bucket;
    message_.start(bucket, veto);
}

void Dispatcher::end_bucket() {
    if (message_.is_vetoed()) {
        schedule_.veto();
        rounds_.note_change();
        return;
    }
    const std::vector<Submission*>& together = message_.submissions();
    remove(together);
    if (schedule_.next().key) {
        listener_.on_ended(together, nullptr);
    } else {
        listener_.on_agreed(together);
        batch_.push_back(together);
    }
    if (!schedule_.advance()) return;
    listener_.on_cycle();
    if (tuning_.time_cycle()) schedule_.cut(tuning_.fusion_bytes());
    agree_on_times();
}

void Dispatcher::freeze() {
    schedule_.freeze();
    const std::size_t bytes = schedule_.cycle_bytes();
    tuning_.begin_schedule(bytes);
    if (tuning_.tunes_fusion()) {
        schedule_.cut(tuning_.fusion_bytes());
    } else {
        schedule_.cut(options_.fusion_bytes, schedule_.good_bucket(engine_.allreduce_time(bytes)));
    }
}

void Dispatcher::agree_on_times() {
    std::vector<double>* times = tuning_.undecided();
    if (times == nullptr) return;
    work_ = Work::times;
    message_.add_up(*times);
}

void Dispatcher::take_decision() {
    const Tuning::Decision decision = tuning_.decide();
    if (decision.is_fusion) schedule_.cut(tuning_.fusion_bytes());
    if (topology_.rank == 0) listener_.on_tuned(decision.text);
}

}  // namespace batchai::coll
