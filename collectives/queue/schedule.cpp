// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/schedule.hpp"

#include <algorithm>

#include "collectives/veto.hpp"

namespace batchai::coll {

void Schedule::started(const std::vector<Submission*>& round, std::size_t capacity) {
    in_current_.resize(capacity, 0);
    in_last_.resize(capacity, 0);
    ++rounds_;
    for (const Submission* submission : round) {
        if (submission->id < 0) return forget();
        add(*submission, rounds_);
    }
    // As many as in the cycle before, and all of them were in it: it is complete.
    const bool equal = current_.size() == last_.size() &&
                       std::all_of(current_.begin(), current_.end(), [&](const Entry& entry) {
                           return in_last_[static_cast<std::size_t>(entry.id)] != 0;
                       });
    if (!equal) return;
    ++repeats_;
    end_cycle();
}

void Schedule::add(const Submission& submission, int round) {
    auto key = fusion_key(submission);
    if (key && float_format(key->type).bytes == 0) key.reset();
    if (in_current_[static_cast<std::size_t>(submission.id)] != 0) {
        repeats_ = 0;
        end_cycle();
    }
    const std::size_t elements = key ? elements_of(submission) : 0;
    const Item item{key, key ? elements * type_size(key->type) : 0, round};
    current_.push_back({submission.id, item, elements});
    in_current_[static_cast<std::size_t>(submission.id)] = 1;
}

void Schedule::end_cycle() {
    last_.swap(current_);
    in_last_.swap(in_current_);
    current_.clear();
    std::fill(in_current_.begin(), in_current_.end(), 0);
}

void Schedule::forget() {
    current_.clear();
    last_.clear();
    std::fill(in_current_.begin(), in_current_.end(), 0);
    std::fill(in_last_.begin(), in_last_.end(), 0);
    repeats_ = 0;
    buckets_.clear();
    position_ = 0;
}

bool Schedule::contains(int id) const {
    return id >= 0 && static_cast<std::size_t>(id) < in_last_.size() &&
           in_last_[static_cast<std::size_t>(id)] != 0;
}

void Schedule::cut(std::size_t threshold) {
    std::vector<Item> items;
    for (const Entry& entry : last_) {
        items.push_back(entry.item);
        if (!sections_) items.back().section = 0;
    }
    buckets_.clear();
    for (const Fused& group : fuse(items, threshold)) {
        Bucket bucket{{}, items[group.front()].key, 0};
        for (const std::uint32_t i : group) {
            bucket.ids.push_back(last_[i].id);
            bucket.elements += last_[i].elements;
        }
        buckets_.push_back(std::move(bucket));
    }
    position_ = completed_ = 0;
}

bool Schedule::advance() {
    position_ = (position_ + 1) % buckets_.size();
    if (position_ == 0) ++completed_;
    return position_ == 0;
}

// What was not cut finely enough is cut finely from now on; if that does not help either, the job
// has to repeat itself more often before it is believed again.
void Schedule::veto() {
    constexpr int kMost = 64;
    if (completed_ == 0) {
        if (sections_) needed_ = std::min(2 * needed_, kMost);
        sections_ = true;
    }
    forget();
}

std::size_t Schedule::cycle_bytes() const {
    std::size_t sum = 0;
    for (const Entry& entry : last_) sum += entry.item.bytes;
    return sum;
}

}  // namespace batchai::coll
