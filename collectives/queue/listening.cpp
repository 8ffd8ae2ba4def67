// SPDX-License-Identifier: Apache-2.0
//
// Queue: what it does with what its dispatcher tells: states for callers, a timeline and sentences
// for people.
#include <cstdio>

#include "collectives/queue/queue.hpp"

namespace batchai::coll {
namespace {

constexpr char kInLine[] = "NEGOTIATE";

const char* verb_of(const Submission& submission) {
    return submission.parts.empty() ? "OPERATION" : "ALLREDUCE";
}

}  // namespace

void Queue::trace_begin(const Submission& submission) {
    timeline_.begin(submission.name(), kInLine, Timeline::Clock::now());
}

void Queue::on_agreed(const std::vector<Submission*>& submissions) {
    const auto now = Timeline::Clock::now();
    const std::scoped_lock held(lock_);
    for (Submission* submission : submissions) {
        submission->state = Submission::State::started;
        blocked_ -= submission->waiters;
        timeline_.end(submission->name(), kInLine, now);
        timeline_.begin(submission->name(), verb_of(*submission), now);
    }
    news_ = true;
}

void Queue::on_ended(const std::vector<Submission*>& together, const Failure* failure) {
    const auto now = Timeline::Clock::now();
    const std::scoped_lock held(lock_);
    for (Submission* submission : together) {
        const bool was_in_line = submission->state == Submission::State::in_line;
        if (was_in_line) blocked_ -= submission->waiters;
        if (timeline_.is_on()) trace_end(*submission, was_in_line, now);
        submission->state = Submission::State::ended;
        submission->failure.status = failure == nullptr ? BATCHAI_COLL_OK : failure->status;
        if (failure != nullptr) submission->failure.sentence = failure->sentence;
    }
    if (failure == nullptr) {
        timeline_.span(verb_of(*together.front()), message_began_, message_bytes_, together.size());
    }
    news_ = true;
    if (callers_ > 0) ended_.notify_all();
}

// What was in line until its end was scheduled, or has failed.
void Queue::trace_end(const Submission& submission, bool was_in_line,
                      Timeline::Clock::time_point now) {
    if (was_in_line) {
        timeline_.end(submission.name(), kInLine, message_began_);
        timeline_.begin(submission.name(), verb_of(submission), message_began_);
    }
    timeline_.end(submission.name(), verb_of(submission), now);
}

void Queue::on_negotiation(bool begins) {
    if (begins) {
        round_began_ = Timeline::Clock::now();
    } else {
        timeline_.span("NEGOTIATION", round_began_, 0, 0);
    }
}

void Queue::on_started(const std::vector<Submission*>&, std::size_t bytes) {
    message_began_ = Timeline::Clock::now();
    message_bytes_ = bytes;
}

void Queue::on_cycle() {
    timeline_.cycle();
}

void Queue::on_stall(const std::string& stall) {
    std::fprintf(stderr,
                 "collectives: operations wait for ranks that have not submitted them: %s\n",
                 stall.c_str());
}

void Queue::on_tuned(const std::string& setting) {
    std::fprintf(stderr, "collectives: autotune: %s\n", setting.c_str());
}

sys::Result<void> Queue::trace(const std::string& path, bool mark_cycles) {
    timeline_.stop();
    if (path.empty()) return {};
    return timeline_.start(path, mark_cycles);
}

}  // namespace batchai::coll
