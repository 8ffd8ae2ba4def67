// SPDX-License-Identifier: Apache-2.0
//
// Queue: handles the dispatcher's reports: states for callers, a timeline, and messages for users.
#include <cctype>
#include <cstdio>

#include "collectives/queue/queue.hpp"

namespace batchai::coll {
namespace {

// "ALLREDUCE", "BROADCAST", ...: the first word of the operation's description, in capitals.
std::string verb_of(const Submission& submission) {
    const std::string does = describe_key(submission.key);
    std::string verb;
    for (const char c : std::string_view(does).substr(0, does.find(' '))) {
        verb += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return verb;
}

std::string in_line(const Submission& submission) {
    return "NEGOTIATE_" + verb_of(submission);
}

}  // namespace

void Queue::trace_begin(const Submission& submission) {
    timeline_.begin(submission.name(), in_line(submission), Timeline::Clock::now());
}

void Queue::on_agreed(const std::vector<Submission*>& submissions) {
    const auto now = Timeline::Clock::now();
    const std::scoped_lock held(lock_);
    for (Submission* submission : submissions) {
        submission->state = Submission::State::started;
        blocked_ -= submission->waiters;
        if (submission->join) unnamed_ = 0;  // ranks have submitted some while others had joined
        if (!timeline_.is_on()) continue;
        timeline_.end(submission->name(), in_line(*submission), now);
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
    if (failure == nullptr && timeline_.is_on()) {
        timeline_.span(verb_of(*together.front()), message_began_, message_bytes_, together.size());
    }
    news_ = true;
    if (callers_ > 0) ended_.notify_all();
}

// Traces the end of a submission, which until now was in line or in progress.
void Queue::trace_end(const Submission& submission, bool was_in_line,
                      Timeline::Clock::time_point now) {
    if (was_in_line) {
        timeline_.end(submission.name(), in_line(submission), message_began_);
        timeline_.begin(submission.name(), verb_of(submission), message_began_);
    }
    timeline_.end(submission.name(), verb_of(submission), now);
}

void Queue::on_negotiation(bool begins) {
    if (begins) {
        round_began_ = Timeline::Clock::now();
        timeline_.cycle();
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
