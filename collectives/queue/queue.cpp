// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/queue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/common/no_signals.hpp"

namespace batchai::coll {
namespace {

// A caller that has tested an operation in line so often counts as waiting for it.
constexpr int kAsksOfAWaiter = 64;
// How long halt() waits for threads to return from their current work.
constexpr std::chrono::seconds kHalt{2};
// How often the thread checks for submissions while it expects more.
constexpr std::chrono::seconds kLook{1};

}  // namespace

Queue::Queue(Engine& engine, Progress& progress, const Topology& topology,
             const Dispatcher::Options& options)
    : dispatcher_(engine, progress, topology, *this, options),
      progress_(progress),
      engine_(engine),
      devices_(options.devices),
      timeline_(topology.rank),
      names_kept_(4 * options.cache_capacity) {
    const NoSignals no_signals;
    thread_ = std::thread([this] { work(); });
}

Queue::~Queue() {
    halt();
    thread_.join();
}

bool Queue::halt() {
    Lock held(lock_);
    stop_ = true;
    turn_.notify_all();
    rested_.notify_all();
    ended_.notify_all();
    return ended_.wait_for(held, kHalt, [this] { return !driven_ && callers_ == 0; });
}

Submission* Queue::take_unused() {
    if (unused_.empty()) return &submissions_.emplace_back();
    Submission* submission = unused_.back();
    unused_.pop_back();
    submission->key.clear();
    return submission;
}

// The last submission with this name, if it can be reused: most of its data is usually still valid.
Submission* Queue::take_named(std::string_view name) {
    auto known = names_.find(name);
    if (known == names_.end()) {
        if (names_.size() >= names_kept_) forget_names();
        known = names_.emplace(name, nullptr).first;
    } else {
        Submission* last = known->second;
        if (!last->has_ticket) return last;
        if (last->state != Submission::State::ended) return nullptr;
        last->is_kept = false;
    }
    known->second = take_unused();
    known->second->is_kept = true;
    return known->second;
}

void Queue::forget_names() {
    std::erase_if(names_, [this](const auto& entry) {
        Submission* submission = entry.second;
        if (submission->has_ticket && submission->state != Submission::State::ended) return false;
        submission->is_kept = false;
        if (!submission->has_ticket) unused_.push_back(submission);
        return true;
    });
}

void Queue::note_caller() {
    const std::thread::id caller = std::this_thread::get_id();
    if (first_caller_ == std::thread::id()) first_caller_ = caller;
    several_callers_ |= caller != first_caller_;
}

Submission* Queue::submit(const Order& order) {
    Lock held(lock_);
    note_caller();
    Submission* submission = order.name.empty() ? take_unused() : take_named(order.name);
    if (submission == nullptr) return nullptr;
    const bool on_device = order.mark != nullptr;
    const bool repeated = submission->join == order.join &&
                          repeats(*submission, order.parts, on_device, order.priority, order.text);
    submission->parts.assign(order.parts.begin(), order.parts.end());
    submission->run = order.run;
    submission->argument = order.argument;
    submission->mark = order.mark;
    submission->stream = order.stream;
    submission->priority = order.priority;
    submission->join = order.join;
    submission->named = !order.name.empty();
    submission->state = Submission::State::in_line;
    submission->has_ticket = true;
    submission->waiters = submission->asked = 0;
    if (!submission->named) {
        set_key(*submission, fmt::format("noname.{}", ++unnamed_), order.text);
    } else if (!repeated) {
        set_key(*submission, order.name, order.text);
    }
    if (timeline_.is_on()) trace_begin(*submission);
    inbox_.push_back(submission);
    inbox_bytes_ += bytes_of(order.parts);
    news_ = true;
    if (is_rested()) wake();
    return submission;
}

// A caller may test from time to time. A caller that tests continuously counts as waiting.
batchai_coll_status Queue::test(Submission* submission, std::string& sentence) {
    Lock held(lock_);
    note_caller();
    if (submission->state == Submission::State::ended) return conclude(submission, sentence);
    if (submission->asked < kAsksOfAWaiter && ++submission->asked == kAsksOfAWaiter &&
        submission->state == Submission::State::in_line) {
        ++submission->waiters;
        ++blocked_;
        news_ = true;
        wake();
    }
    return BATCHAI_COLL_IN_PROGRESS;
}

batchai_coll_status Queue::wait(Submission* submission, std::string& sentence) {
    Lock held(lock_);
    note_caller();
    if (submission->state == Submission::State::ended) return conclude(submission, sentence);
    if (submission->state == Submission::State::in_line) {
        ++submission->waiters;
        ++blocked_;
    }
    ++callers_;
    news_ = true;
    if (driven_) rested_.notify_one();
    Backoff backoff;
    while (submission->state != Submission::State::ended && !stop_) {
        if (driven_) {
            ended_.wait(held);
        } else {
            drive(held, submission, backoff);
        }
    }
    --callers_;
    news_ = true;
    if (submission->state == Submission::State::ended) return conclude(submission, sentence);
    ended_.notify_all();
    sentence = fmt::format("the queue was closed before {} had ended", submission->name());
    return BATCHAI_COLL_ERR_PEER;
}

// The caller's later orders come after the submission's result.
void Queue::follow_device(Submission& submission) {
    devices_->unmark(submission.mark);
    if (submission.failure.status != BATCHAI_COLL_OK) return;
    const auto done = devices_->follow(submission.stream);
    if (!done) submission.failure = {BATCHAI_COLL_ERR_SYSTEM, done.error().message};
}

batchai_coll_status Queue::conclude(Submission* submission, std::string& sentence) {
    if (submission->on_device()) follow_device(*submission);
    const batchai_coll_status status = submission->failure.status;
    if (status != BATCHAI_COLL_OK) sentence = submission->failure.sentence;
    submission->has_ticket = false;
    if (!submission->is_kept) unused_.push_back(submission);
    return status;
}

Failure Queue::close() {
    Lock held(lock_);
    closing_ = news_ = true;
    if (driven_) rested_.notify_one();
    Backoff backoff;
    while (!closed_ && !stop_) {
        if (driven_) {
            ended_.wait(held);
        } else {
            drive(held, nullptr, backoff);
        }
    }
    timeline_.stop();
    const bool well = closed_ && engine_.failure().status == BATCHAI_COLL_OK;
    if (devices_ == nullptr || !well) return engine_.failure();
    held.unlock();  // no thread drives the queue now
    return devices_->close();
}

void Queue::work() {
    Backoff backoff(Backoff::Thread::in_background);
    Lock held(lock_);
    while (!stop_) {
        const bool wanted = !driven_ && (is_rested() || dispatcher_.has_work());
        // A submission for a bucket wakes no thread, but must be noticed in time.
        if (wanted || (sleep(held) && !inbox_.empty() && !driven_)) {
            drive(held, nullptr, backoff);
        }
    }
}

// Sleeps until another thread wakes this one. True: the time limit was reached first.
bool Queue::sleep(Lock& held) {
    if (rest_.submissions > 1) return turn_.wait_for(held, kLook) == std::cv_status::timeout;
    turn_.wait(held);
    return false;
}

void Queue::drive(Lock& held, const Submission* submission, Backoff& backoff) {
    driven_ = true;
    held.unlock();
    while (!stop_) {
        if (news_) {
            held.lock();
            take_news();
            held.unlock();
        }
        const Step step = dispatcher_.step();
        if (submission != nullptr && submission->state == Submission::State::ended) break;
        if (news_) continue;
        if (submission == nullptr && !dispatcher_.has_work()) break;
        const auto resting = step == Step::idle ? dispatcher_.rest() : std::nullopt;
        // While its only caller waits, the process computes nothing that needs the core.
        backoff.set_forward(is_awaited_);
        if (step != Step::idle || resting) backoff.reset();
        if (resting) {
            rest(*resting);
        } else if (step == Step::idle) {
            engine_.pause(backoff);
        }
    }
    held.lock();
    if (news_) take_news();
    driven_ = false;
    closed_ = dispatcher_.has_closed();
    rest_ = dispatcher_.rest().value_or(Dispatcher::Rest());
    if (closing_ || stop_ || callers_ > 1) ended_.notify_all();
    if (is_rested() || dispatcher_.has_work()) turn_.notify_one();
}

// Call it with the lock held.
void Queue::take_news() {
    news_ = false;
    const auto now = Dispatcher::Clock::now();
    for (Submission* submission : inbox_) dispatcher_.add(submission, now);
    inbox_.clear();
    inbox_bytes_ = 0;
    told_blocked_ = blocked_ > 0;
    dispatcher_.set_blocked(told_blocked_, !several_callers_);
    is_awaited_ = callers_ > 0 && !several_callers_;
    progress_.set_inside(callers_ > 0 || closing_);
    if (closing_ && !told_closing_) dispatcher_.close();
    told_closing_ = closing_;
}

// Wakes the thread that drives, or else the queue's own thread.
void Queue::wake() {
    if (driven_) {
        rested_.notify_one();
    } else {
        turn_.notify_one();
    }
}

// Whether a resting driver has something to do, or a thread must start to drive.
bool Queue::is_rested() const {
    return stop_ || inbox_.size() >= rest_.submissions ||
           (rest_.bytes > 0 && inbox_bytes_ >= rest_.bytes) || (blocked_ > 0) != told_blocked_ ||
           closing_ != told_closing_;
}

void Queue::rest(const Dispatcher::Rest& rest) {
    Lock held(lock_);
    rest_ = rest;
    const auto done = [this] { return is_rested(); };
    if (rest.until == Dispatcher::Clock::time_point::max()) {
        rested_.wait(held, done);
    } else {
        rested_.wait_until(held, rest.until, done);
    }
}

}  // namespace batchai::coll
