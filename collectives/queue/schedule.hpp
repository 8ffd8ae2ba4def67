// SPDX-License-Identifier: Apache-2.0
//
// Schedule: predicts the next operations of a job that repeats itself, so that the ranks need not
// negotiate. Training reduces the same tensors in every step. After some equal cycles of operations
// the schedule is frozen: it divides the tensors into buckets. A rank starts each bucket as soon as
// it has all of its tensors. The schedule is used until a rank vetoes a bucket (veto.hpp), because
// it submits other operations. Then the ranks negotiate until the job has repeated itself again.
//
// Pure. All ranks see the same starts and vetoes in the same order, so they freeze and forget the
// schedule at the same place. The order of operations may differ from cycle to cycle, and a cycle
// may begin anywhere. The schedule begins at a point where all ranks waited for all their
// submissions, as they do at the end of a step.
//
// A bucket's allreduce carries its tensors together with the veto. So only tensors of floating
// types in host memory can share it. For any other operation the bucket is the veto alone, and the
// operation follows.
//
// Buckets end at the fusion threshold and at points where all ranks waited. A bucket of several
// tensors and more than 1 MiB is no larger than
//   - all that follow it, because no computation overlaps with the last one,
//   - the tensors before it, so that messages begin soon (host memory only),
//   - good_bucket(), between nodes (host memory only, and not while a threshold is tuned).
// Tensors that are small compared with the next one are an exception: they share its bucket,
// because a separate message's latency would exceed the time for their bytes. If a bucket is vetoed
// in the first cycle, buckets are cut like the rounds of the last cycle from then on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "collectives/queue/submission.hpp"

namespace batchai::coll {

// Fusion: chooses which submissions are reduced together, as one message. They need not be
// neighbours: a submission of another type between them does not separate them. Pure. All
// ranks choose the same, because the choice depends only on data on which they have agreed.
//
// The bits of a result do not depend on its message's other submissions (docs/collectives.md).
// The properties that all submissions of one message have in common.
struct FusionKey {
    std::uint8_t type = 0, op = 0;
    double before = 1, after = 1;
    bool on_device = false;
    bool operator==(const FusionKey&) const = default;
};

// The key of an allreduce whose tensors all have the same properties; nullopt: it is not fused.
std::optional<FusionKey> fusion_key(const Submission& submission);
std::size_t elements_of(const Submission& submission);

// A submission, reduced to the properties that decide fusion.
struct Item {
    std::optional<FusionKey> key;
    std::size_t bytes = 0;
    int section = 0;  // only items with the same section are fused
    // The most bytes of a group that ends with this item, besides the threshold.
    std::size_t most = std::numeric_limits<std::size_t>::max();
    std::size_t least = 0;  // a smaller group takes the item anyway, if the threshold allows
};

using Fused = std::vector<std::uint32_t>;  // indices of items, ascending

// Groups of items, in the order of their last items. A group has at most `threshold` bytes and
// meets its items' limits, or it is one item.
std::vector<Fused> fuse(const std::vector<Item>& items, std::size_t threshold);
std::vector<std::vector<Submission*>> fuse(const std::vector<Submission*>& submissions,
                                           std::size_t threshold);

class Schedule {
  public:
    struct Bucket {
        std::vector<int> ids;          // ids of the response cache
        std::optional<FusionKey> key;  // nullopt: the operations start if no rank vetoes
        std::size_t elements = 0;
    };

    // Submissions were started by one round. settled: all ranks waited, and their lines are empty.
    // capacity: of the response cache.
    void started(const std::vector<Submission*>& round, bool settled, std::size_t capacity);
    // Forgets all cycles and buckets.
    void forget();

    // Whether the job has repeated itself and is at the end of a step.
    bool may_freeze() const {
        return repeats_ + (is_complete() ? 1 : 0) >= needed_ && settled_ &&
               matching_ == current_.size() && !is_frozen();
    }
    // Call cut() after it.
    void freeze();
    bool is_frozen() const { return !buckets_.empty(); }
    const Bucket& next() const { return buckets_[position_]; }
    bool contains(int id) const;
    // The next bucket was reduced. True: it was the last one of a cycle.
    bool advance();
    // The next bucket was vetoed.
    void veto();
    // Cuts new buckets, at the beginning of a cycle. most: the fusion threshold. good: of
    // good_bucket(); with small tensors a bucket may be larger.
    void cut(std::size_t most, std::size_t good = std::numeric_limits<std::size_t>::max());
    // A good size of a bucket in bytes, if the wire takes so long for a whole cycle. While the wire
    // carries a bucket, the rank computes the next one. If both take about as long, one of n
    // buckets in t seconds is not hidden, which costs t / n. The start of a bucket costs s, so all
    // cost n s. The sum is smallest for n = sqrt(t / s).
    std::size_t good_bucket(std::chrono::nanoseconds wire_time) const;
    std::size_t cycle_bytes() const;

  private:
    struct Entry {
        int id;
        Item item;
        int round;
        std::size_t elements;
    };

    static constexpr int kRepeats = 2;  // equal cycles before the schedule freezes
    static constexpr std::size_t kLeastBucket = 1u << 20;  // bytes, if enough follows
    static constexpr std::size_t kSmallPart = 8;           // next tensor's size / a small tensor's
    // The cost of a bucket's start, for threads that share cores with computation and sleep between
    // checks of the wire.
    static constexpr std::chrono::microseconds kStart{1000};

    // Whether the current cycle equals the last one.
    bool is_complete() const {
        return !last_.empty() && current_.size() == last_.size() && matching_ == last_.size();
    }
    void add(const Submission& submission);
    void end_cycle();

    std::vector<Entry> current_, last_;
    std::vector<char> in_current_, in_last_;  // by id
    std::size_t matching_ = 0;  // operations of the current cycle that the last one has too
    int rounds_ = 0, settlings_ = 0;
    bool settled_ = false;
    int repeats_ = 0, needed_ = kRepeats;
    bool by_rounds_ = false;  // buckets are cut like rounds

    std::vector<Bucket> buckets_;  // empty: not frozen
    std::size_t position_ = 0;
    int completed_ = 0;  // cycles that these buckets have completed
};

}  // namespace batchai::coll
