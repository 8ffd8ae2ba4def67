// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/submission_pool.hpp"

#include <fmt/format.h>

namespace batchai::coll {

Submission* SubmissionPool::take_unused() {
    if (unused_.empty()) return &submissions_.emplace_back();
    Submission* submission = unused_.back();
    unused_.pop_back();
    submission->key.clear();
    return submission;
}

// The last submission with this name, if it can be reused: most of its data is usually still valid.
Submission* SubmissionPool::take_named(std::string_view name) {
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

void SubmissionPool::forget_names() {
    std::erase_if(names_, [this](const auto& entry) {
        Submission* submission = entry.second;
        if (submission->has_ticket && submission->state != Submission::State::ended) return false;
        submission->is_kept = false;
        if (!submission->has_ticket) unused_.push_back(submission);
        return true;
    });
}

Submission* SubmissionPool::make(const Order& order) {
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
    submission->state = Submission::State::pending;
    submission->has_ticket = true;
    submission->waiters = submission->asked = 0;
    if (!submission->named) {
        set_key(*submission, fmt::format("noname.{}", ++unnamed_), order.text);
    } else if (!repeated) {
        set_key(*submission, order.name, order.text);
    }
    return submission;
}

void SubmissionPool::take_back(Submission* submission) {
    submission->has_ticket = false;
    if (!submission->is_kept) unused_.push_back(submission);
}

}  // namespace batchai::coll
