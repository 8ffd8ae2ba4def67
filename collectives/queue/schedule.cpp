// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/schedule.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/common/veto.hpp"

namespace batchai::coll {

std::optional<FusionKey> fusion_key(const Submission& submission) {
    std::optional<FusionKey> key;
    for (const Part& part : submission.parts) {
        const Signature& signature = part.signature;
        const FusionKey own{signature.type, signature.op, signature.before, signature.after,
                            submission.on_device()};
        if (key && *key != own) return std::nullopt;
        key = own;
    }
    return key;
}

std::size_t elements_of(const Submission& submission) {
    std::size_t sum = 0;
    for (const Part& part : submission.parts) sum += part.signature.count;
    return sum;
}

std::vector<Fused> fuse(const std::vector<Item>& items, std::size_t threshold) {
    struct Open {
        Fused group;
        std::size_t bytes;
    };
    std::vector<Open> open;
    std::vector<Fused> groups;
    for (std::uint32_t i = 0; i < items.size(); ++i) {
        const Item& item = items[i];
        const auto like = std::find_if(open.begin(), open.end(), [&](const Open& other) {
            const Item& first = items[other.group.front()];
            return item.key && first.key == item.key && first.section == item.section;
        });
        if (like == open.end()) {
            open.push_back({{i}, item.bytes});
        } else if (like->bytes + item.bytes <= threshold &&
                   (like->bytes + item.bytes <= item.most || like->bytes < item.least)) {
            like->group.push_back(i);
            like->bytes += item.bytes;
        } else {
            groups.push_back(std::move(like->group));
            *like = {{i}, item.bytes};
        }
    }
    for (Open& last : open) groups.push_back(std::move(last.group));
    std::sort(groups.begin(), groups.end(),
              [](const Fused& a, const Fused& b) { return a.back() < b.back(); });
    return groups;
}

std::vector<std::vector<Submission*>> fuse(const std::vector<Submission*>& submissions,
                                           std::size_t threshold) {
    std::vector<Item> items;
    for (const Submission* submission : submissions) {
        items.push_back({fusion_key(*submission), bytes_of(submission->parts), 0});
    }
    std::vector<std::vector<Submission*>> messages;
    for (const Fused& group : fuse(items, threshold)) {
        std::vector<Submission*>& together = messages.emplace_back();
        for (const std::uint32_t i : group) together.push_back(submissions[i]);
    }
    return messages;
}

void Schedule::started(const std::vector<Submission*>& round, bool settled, std::size_t capacity) {
    in_current_.resize(capacity, 0);
    in_last_.resize(capacity, 0);
    ++rounds_;
    for (const Submission* submission : round) {
        if (submission->id < 0) return forget();
        add(*submission);
    }
    settled_ = settled;
    if (settled) ++settlings_;
}

void Schedule::add(const Submission& submission) {
    const auto id = static_cast<std::size_t>(submission.id);
    const bool complete = is_complete();
    if (complete || in_current_[id] != 0) {
        repeats_ = complete ? repeats_ + 1 : 0;
        end_cycle();
    }
    auto key = fusion_key(submission);
    if (key && !key->on_device && float_format(key->type).bytes == 0) key.reset();
    const std::size_t elements = key && !key->on_device ? elements_of(submission) : 0;
    const Item item{key, key ? bytes_of(submission.parts) : 0, settlings_};
    current_.push_back({submission.id, item, rounds_, elements});
    in_current_[id] = 1;
    matching_ += in_last_[id] != 0;
}

void Schedule::end_cycle() {
    last_.swap(current_);
    in_last_.swap(in_current_);
    current_.clear();
    matching_ = 0;
    std::fill(in_current_.begin(), in_current_.end(), 0);
}

// Puts the operations of the last cycle that the current one does not have yet before it.
void Schedule::freeze() {
    std::erase_if(last_, [this](const Entry& entry) {
        return in_current_[static_cast<std::size_t>(entry.id)] != 0;
    });
    last_.insert(last_.end(), current_.begin(), current_.end());
    for (const Entry& entry : last_) in_last_[static_cast<std::size_t>(entry.id)] = 1;
    current_.clear();
}

void Schedule::forget() {
    current_.clear();
    last_.clear();
    std::fill(in_current_.begin(), in_current_.end(), 0);
    std::fill(in_last_.begin(), in_last_.end(), 0);
    repeats_ = 0;
    matching_ = 0;
    settled_ = false;
    buckets_.clear();
    position_ = 0;
}

bool Schedule::contains(int id) const {
    return id >= 0 && static_cast<std::size_t>(id) < in_last_.size() &&
           in_last_[static_cast<std::size_t>(id)] != 0;
}

void Schedule::cut(std::size_t most, std::size_t good) {
    std::vector<Item> items;
    for (const Entry& entry : last_) {
        items.push_back(entry.item);
        if (by_rounds_) items.back().section = entry.round;
    }
    std::size_t after = 0;
    for (std::size_t i = items.size(); i-- > 0;) {
        if (i + 1 < items.size() && items[i].section != items[i + 1].section) after = 0;
        items[i].most = std::max(after, kLeastBucket);
        items[i].least = items[i].bytes / kSmallPart;
        after += items[i].bytes;
    }
    std::size_t until = 0;  // a bucket that ends here, and all before it
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0 && items[i - 1].section != items[i].section) until = 0;
        until += items[i].bytes;
        if (!items[i].key || items[i].key->on_device) continue;
        items[i].most = std::min({items[i].most, std::max(until / 2, kLeastBucket), good});
    }
    buckets_.clear();
    for (const Fused& group : fuse(items, most)) {
        Bucket bucket{{}, items[group.front()].key, 0};
        if (bucket.key && bucket.key->on_device) bucket.key.reset();
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

// Buckets that were too large are cut smaller from now on. If they already were, the job must
// repeat itself more often before the schedule freezes again.
void Schedule::veto() {
    constexpr int kMost = 64;
    if (completed_ == 0) {
        if (by_rounds_) needed_ = std::min(2 * needed_, kMost);
        by_rounds_ = true;
    }
    forget();
}

std::size_t Schedule::good_bucket(std::chrono::nanoseconds wire_time) const {
    const double buckets = std::sqrt(std::chrono::duration<double>(wire_time) / kStart);
    const double bytes = static_cast<double>(cycle_bytes()) / std::max(1.0, buckets);
    return std::max(kLeastBucket, static_cast<std::size_t>(bytes));
}

std::size_t Schedule::cycle_bytes() const {
    std::size_t sum = 0;
    for (const Entry& entry : last_) sum += entry.item.bytes;
    return sum;
}

}  // namespace batchai::coll
