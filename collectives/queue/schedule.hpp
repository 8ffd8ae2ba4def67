// SPDX-License-Identifier: Apache-2.0
//
// Schedule: what a job that repeats itself does next, without a word between the ranks. Training
// reduces the same tensors in every step; after some equal cycles of operations the schedule is
// frozen: the tensors are divided into buckets, and a rank starts each bucket as soon as it has all
// of its tensors. The schedule holds until a rank vetoes a bucket (veto.hpp), because it does
// something else; then ranks negotiate again, until they have repeated themselves once more.
//
// Pure. All ranks see the same starts and vetoes in the same order, so they freeze and thaw at the
// same place. The operations of a cycle may come in another order in each, and a cycle may begin
// anywhere; the schedule begins where all ranks waited for all that they had submitted, as they do
// at the end of a step.
//
// A bucket's allreduce carries its tensors and the veto together, so only floating types in the
// host's memory can be in one; for anything else the bucket is the veto alone, and the operation
// comes after it.
//
// Buckets are cut where the fusion threshold says, and where all ranks waited; towards the end they
// become smaller, none larger than what comes after it, as nothing is computed beside the last one.
// But tensors that are small beside the next one go with it: sent separately, they would cost it a
// message's latency, which is more than the time of their bytes. Where one is vetoed in their first
// cycle nevertheless, they are cut as the rounds of the last cycle were from then on.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/queue/fusion.hpp"

namespace batchai::coll {

class Schedule {
  public:
    struct Bucket {
        std::vector<int> ids;          // of the response cache
        std::optional<FusionKey> key;  // none: they are to be started when nobody vetoes it
        std::size_t elements = 0;
    };

    // Submissions were started, after one round. settled: all ranks waited, and nothing is left in
    // any line. capacity: of the response cache.
    void started(const std::vector<Submission*>& round, bool settled, std::size_t capacity);
    // Nothing that was seen counts any more.
    void forget();

    // The job has repeated itself, and stands at the end of a step.
    bool may_freeze() const {
        return repeats_ + (is_complete() ? 1 : 0) >= needed_ && settled_ &&
               matching_ == current_.size() && !is_frozen();
    }
    // After it: cut() is to follow.
    void freeze();
    bool is_frozen() const { return !buckets_.empty(); }
    const Bucket& next() const { return buckets_[position_]; }
    bool contains(int id) const;
    // The next bucket was reduced. True: it was the last one of a cycle.
    bool advance();
    // The next bucket was vetoed.
    void veto();
    // Cuts new buckets, at the beginning of a cycle.
    void cut(std::size_t threshold);
    std::size_t cycle_bytes() const;

  private:
    struct Entry {
        int id;
        Item item;
        int round;
        std::size_t elements;
    };

    static constexpr int kRepeats = 2;                     // of a cycle, until it counts as a habit
    static constexpr std::size_t kLeastBucket = 1u << 20;  // bytes, where there are so many
    static constexpr std::size_t kSmallPart = 8;           // of a tensor: what is small beside it

    // The current cycle is as the last one was.
    bool is_complete() const {
        return !last_.empty() && current_.size() == last_.size() && matching_ == last_.size();
    }
    void add(const Submission& submission);
    void end_cycle();

    std::vector<Entry> current_, last_;
    std::vector<char> in_current_, in_last_;  // by id
    std::size_t matching_ = 0;                // of the current cycle, in the last one
    int rounds_ = 0, settlings_ = 0;
    bool settled_ = false;
    int repeats_ = 0, needed_ = kRepeats;
    bool by_rounds_ = false;  // buckets are cut

    std::vector<Bucket> buckets_;  // none: not frozen
    std::size_t position_ = 0;
    int completed_ = 0;  // cycles of these buckets
};

}  // namespace batchai::coll
