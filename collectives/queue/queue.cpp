// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/queue.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "collectives/common/no_signals.hpp"

namespace batchai::coll {
namespace {

// A caller that has tested a pending operation so often counts as waiting for it.
constexpr int kAsksOfAWaiter = 64;
// How long halt() waits for threads to return from their current work.
constexpr std::chrono::seconds kHalt{2};
// How often the thread checks for submissions while it expects more.
constexpr std::chrono::seconds kLook{1};

}  // namespace

// One thread of a rank is the only caller until another one submits or waits.
void Callers::note() {
    const std::thread::id caller = std::this_thread::get_id();
    if (first_ == std::thread::id()) first_ = caller;
    several_ |= caller != first_;
}

void Callers::wait_for(Submission& submission) {
    if (submission.state != Submission::State::pending) return;
    ++submission.waiters;
    ++blocked_;
}

Queue::Queue(Engine& engine, Progress& progress, const Topology& topology,
             const Dispatcher::Options& options)
    : dispatcher_(engine, progress, topology, *this, options),
      progress_(progress),
      engine_(engine),
      devices_(options.devices),
      trace_(topology.rank),
      pool_(4 * options.cache_capacity) {
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
    woken_.notify_all();
    ended_.notify_all();
    return ended_.wait_for(held, kHalt, [this] { return !driven_ && callers_.waiting() == 0; });
}

Submission* Queue::submit(const Order& order) {
    Lock held(lock_);
    callers_.note();
    Submission* submission = pool_.make(order);
    if (submission == nullptr) return nullptr;
    trace_.on_submitted(*submission);
    inbox_.submissions.push_back(submission);
    inbox_.bytes += bytes_of(order.parts);
    news_ = true;
    if (is_woken()) wake();
    return submission;
}

// A caller may test from time to time. A caller that tests continuously counts as waiting.
batchai_coll_status Queue::test(Submission* submission, std::string& sentence) {
    Lock held(lock_);
    callers_.note();
    if (submission->state == Submission::State::ended) return conclude(submission, sentence);
    if (submission->asked < kAsksOfAWaiter && ++submission->asked == kAsksOfAWaiter &&
        submission->state == Submission::State::pending) {
        callers_.wait_for(*submission);
        news_ = true;
        wake();
    }
    return BATCHAI_COLL_IN_PROGRESS;
}

batchai_coll_status Queue::wait(Submission* submission, std::string& sentence) {
    Lock held(lock_);
    callers_.note();
    if (submission->state == Submission::State::ended) return conclude(submission, sentence);
    callers_.wait_for(*submission);
    callers_.begin_wait();
    news_ = true;
    if (driven_) woken_.notify_one();
    Backoff backoff;
    while (submission->state != Submission::State::ended && !stop_) {
        if (driven_) {
            ended_.wait(held);
        } else {
            drive(held, submission, backoff);
        }
    }
    callers_.end_wait();
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
    pool_.take_back(submission);
    return status;
}

Failure Queue::close() {
    Lock held(lock_);
    inbox_.closing = news_ = true;
    if (driven_) woken_.notify_one();
    Backoff backoff;
    while (!closed_ && !stop_) {
        if (driven_) {
            ended_.wait(held);
        } else {
            drive(held, nullptr, backoff);
        }
    }
    trace_.stop();
    const bool well = closed_ && engine_.failure().status == BATCHAI_COLL_OK;
    if (devices_ == nullptr || !well) return engine_.failure();
    held.unlock();  // no thread drives the queue now
    return devices_->close();
}

void Queue::work() {
    Backoff backoff(Backoff::Thread::in_background);
    Lock held(lock_);
    while (!stop_) {
        const bool wanted = !driven_ && (is_woken() || dispatcher_.has_work());
        // A submission for a bucket wakes no thread, but must be noticed in time.
        if (wanted || (sleep(held) && !inbox_.submissions.empty() && !driven_)) {
            drive(held, nullptr, backoff);
        }
    }
}

// Sleeps until another thread wakes this one. True: the time limit was reached first.
bool Queue::sleep(Lock& held) {
    if (inbox_.wait.submissions > 1) return turn_.wait_for(held, kLook) == std::cv_status::timeout;
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
        const auto wait = step == Step::idle ? dispatcher_.idle_wait() : std::nullopt;
        // While its only caller waits, the process computes nothing that needs the core.
        backoff.set_forward(is_awaited_);
        if (step != Step::idle || wait) backoff.reset();
        if (wait) {
            idle(*wait);
        } else if (step == Step::idle) {
            engine_.pause(backoff);
        }
    }
    held.lock();
    if (news_) take_news();
    driven_ = false;
    closed_ = dispatcher_.has_closed();
    inbox_.wait = dispatcher_.idle_wait().value_or(IdleWait());
    if (inbox_.closing || stop_ || callers_.waiting() > 1) ended_.notify_all();
    if (is_woken() || dispatcher_.has_work()) turn_.notify_one();
}

// Call it with the lock held.
void Queue::take_news() {
    news_ = false;
    const auto now = Dispatcher::Clock::now();
    for (Submission* submission : inbox_.submissions) dispatcher_.add(submission, now);
    inbox_.submissions.clear();
    inbox_.bytes = 0;
    inbox_.told_blocked = callers_.are_blocked();
    dispatcher_.set_blocked(inbox_.told_blocked, !callers_.are_several());
    is_awaited_ = callers_.waiting() > 0 && !callers_.are_several();
    progress_.set_inside(callers_.waiting() > 0 || inbox_.closing);
    if (inbox_.closing && !inbox_.told_closing) dispatcher_.close();
    inbox_.told_closing = inbox_.closing;
}

// Wakes the thread that drives, or else the queue's own thread.
void Queue::wake() {
    if (driven_) {
        woken_.notify_one();
    } else {
        turn_.notify_one();
    }
}

// Whether a waiting driver has something to do, or a thread must start to drive.
bool Queue::is_woken() const {
    const IdleWait& wait = inbox_.wait;
    return stop_ || inbox_.submissions.size() >= wait.submissions ||
           (wait.bytes > 0 && inbox_.bytes >= wait.bytes) ||
           callers_.are_blocked() != inbox_.told_blocked || inbox_.closing != inbox_.told_closing;
}

void Queue::idle(const IdleWait& wait) {
    Lock held(lock_);
    inbox_.wait = wait;
    const auto done = [this] { return is_woken(); };
    if (wait.until == Dispatcher::Clock::time_point::max()) {
        woken_.wait(held, done);
    } else {
        woken_.wait_until(held, wait.until, done);
    }
}

void Queue::on_agreed(const std::vector<Submission*>& submissions) {
    const std::scoped_lock held(lock_);
    trace_.on_agreed(submissions);
    for (Submission* submission : submissions) {
        callers_.release(*submission);
        submission->state = Submission::State::started;
        // Ranks have submitted some without a name while others had joined.
        if (submission->join) pool_.restart_numbers();
    }
    news_ = true;
}

void Queue::on_ended(const std::vector<Submission*>& together, const Failure* failure) {
    const std::scoped_lock held(lock_);
    trace_.on_ended(together, failure == nullptr);
    for (Submission* submission : together) {
        callers_.release(*submission);
        submission->state = Submission::State::ended;
        submission->failure.status = failure == nullptr ? BATCHAI_COLL_OK : failure->status;
        if (failure != nullptr) submission->failure.sentence = failure->sentence;
    }
    news_ = true;
    if (callers_.waiting() > 0) ended_.notify_all();
}

void Queue::on_stall(const std::string& stall) {
    std::fprintf(stderr,
                 "collectives: operations wait for ranks that have not submitted them: %s\n",
                 stall.c_str());
}

void Queue::on_tuned(const std::string& setting) {
    std::fprintf(stderr, "collectives: autotune: %s\n", setting.c_str());
}

}  // namespace batchai::coll
