// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/pending.hpp"

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

void OwnRequests::add(Submission* submission) {
    submission->pending = true;
    submission->order = ++added_;
    cache_.identify(*submission);
    all_.push_back(submission);
    bytes_ += bytes_of(submission->parts);
    index(submission);
}

void OwnRequests::index(Submission* submission) {
    submission->next_alike = nullptr;
    if (submission->id < 0) return;
    Submission** last = &by_id_[static_cast<std::size_t>(submission->id)];
    while (*last != nullptr) last = &(*last)->next_alike;
    *last = submission;
}

void OwnRequests::identify() {
    std::fill(by_id_.begin(), by_id_.end(), nullptr);
    for (Submission* submission : all_) {
        cache_.identify(*submission);
        index(submission);
    }
}

void OwnRequests::remove(const std::vector<Submission*>& submissions) {
    for (Submission* submission : submissions) {
        submission->pending = false;
        if (submission->id < 0) continue;
        Submission** place = &by_id_[static_cast<std::size_t>(submission->id)];
        while (*place != submission) place = &(*place)->next_alike;
        *place = submission->next_alike;
    }
    std::erase_if(all_, [](const Submission* submission) { return !submission->pending; });
    bytes_ = bytes_of(all_);
}

std::size_t OwnRequests::missing(const std::vector<int>& ids) const {
    return static_cast<std::size_t>(
        std::count_if(ids.begin(), ids.end(), [this](int id) { return of(id) == nullptr; }));
}

void RoundTimer::set_blocked(bool blocked, bool alone) {
    if (blocked && !blocked_) {
        fresh_ = true;
        blocked_since_ = Clock::now();
    }
    blocked_ = blocked;
    alone_ = alone;
}

bool RoundTimer::is_stuck(Clock::time_point now) const {
    return leaves_ || (blocked_ && now >= blocked_since_ + (alone_ ? patience_ : kLongestWait));
}

bool RoundTimer::is_due(const OwnRequests& requests, std::chrono::nanoseconds cycle,
                        Clock::time_point now) const {
    if (!fresh_) return now >= retry_at_;
    return is_blocked() || requests.bytes() >= most_bytes_ ||
           requests.all().size() >= most_requests_ || now >= requests.oldest()->since + cycle;
}

IdleWait RoundTimer::wait(const OwnRequests& requests, std::chrono::nanoseconds cycle) const {
    IdleWait wait;
    wait.until = fresh_ && !requests.empty() ? requests.oldest()->since + cycle : retry_at_;
    wait.submissions = fresh_ ? most_requests_ : 1;
    if (most_bytes_ > requests.bytes()) wait.bytes = most_bytes_ - requests.bytes();
    return wait;
}

void RoundTimer::begin_round() {
    if (fresh_) pause_ = 0s;
    fresh_ = false;
}

void RoundTimer::retry_later() {
    pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
    retry_at_ = Clock::now() + pause_;
}

void StallTimer::show(const std::vector<Submission*>& together) {
    label_ = together.front()->name();
    if (together.size() > 1) {
        label_ += " and ";
        label_ += fmt::format_int(together.size() - 1).c_str();
        label_ += " more";
    }
    progress_.label(label_.c_str());
}

void StallTimer::restart(const OwnRequests& requests) {
    at_ = requests.empty() || limit_ == 0s ? Clock::time_point::max()
                                           : requests.oldest()->since + limit_;
}

bool StallTimer::is_due() {
    if (at_ == Clock::time_point::max()) return false;
    const auto now = Clock::now();
    if (now < at_) return false;
    at_ = now + limit_;
    return true;
}

}  // namespace batchai::coll
