// SPDX-License-Identifier: Apache-2.0
//
// Trial: one rank's part in an operation whose result is known, for tests of any harness: ranks in
// one thread (ranks.hpp), in threads (threads.cpp), in processes (forks.cpp). Numbers are int64, so
// that every result is exact. It calls nothing: the harness starts call() and asks right() once
// that has ended.
#pragma once

#include <algorithm>
#include <memory_resource>
#include <numeric>
#include <vector>

#include "collectives/common/call.hpp"

namespace batchai::coll {

// An operation as it is tried; even: with blocks of equal lengths.
struct Task {
    Kind kind;
    bool even = true;
    bool in_place = false;
};

// All operations, except finalize.
inline const std::vector<Task> kTasks = {
    {Kind::allreduce},        {Kind::allreduce, true, true},
    {Kind::broadcast},        {Kind::barrier},
    {Kind::allgather},        {Kind::allgather, true, true},
    {Kind::allgather, false}, {Kind::allgather, false, true},
    {Kind::reduce_scatter},   {Kind::reduce_scatter, false},
    {Kind::alltoall},         {Kind::alltoallv, false},
};

class Trial {
  public:
    // All ranks' have the same task and count, from which the root follows. memory: for buffers.
    Trial(const Task& task, int rank, int size, std::size_t count,
          std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : task_(task), rank_(rank), size_(size), count_(count), send_(memory), receive_(memory) {
        call_.signature.kind = task.kind;
        call_.signature.type = BATCHAI_COLL_INT64;
        call_.signature.count = count;
        prepare();
        given_ = send_;
        fill();
        call_.counts = counts_;
        call_.receive_counts = receive_counts_;
    }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    const Call& call() const { return call_; }
    // After the call: the result is right, and the send buffer is unchanged.
    bool right() const { return receive_ == expected_ && send_ == given_; }
    // As before the call.
    void reset() { fill(); }

  private:
    using Numbers = std::pmr::vector<std::int64_t>;

    static constexpr std::size_t kPeriod = 101;
    static std::int64_t number(int rank, std::size_t i) {
        return static_cast<std::int64_t>((i * 7 + static_cast<std::size_t>(rank) * 13) % kPeriod) -
               50;
    }
    // Of the numbers of all ranks from `begin` on.
    void expect_sums(std::size_t begin, std::size_t count) {
        Numbers sums(kPeriod);
        for (std::size_t i = 0; i < kPeriod; ++i) {
            for (int r = 0; r < size_; ++r) sums[i] += number(r, i);
        }
        for (std::size_t i = 0; i < count; ++i) expected_.push_back(sums[(begin + i) % kPeriod]);
    }
    // Lengths of blocks that differ, some of them nothing.
    std::size_t uneven(int index) const {
        return index % 3 == 1 ? 0 : count_ / (static_cast<std::size_t>(index) % 4 + 1);
    }
    std::size_t block(int rank) const { return task_.even ? count_ : uneven(rank); }
    std::size_t block(int from, int to) const {
        return task_.even ? count_ : uneven(from * 5 + to);
    }

    void give(std::size_t count) {
        send_.reserve(count);
        for (std::size_t i = 0; i < count; ++i) send_.push_back(number(rank_, i));
    }
    void set_root() {
        call_.signature.root =
            static_cast<std::int32_t>((count_ + 1) % static_cast<unsigned>(size_));
    }
    bool is_root() const { return call_.signature.root == rank_; }

    void prepare() {
        switch (task_.kind) {
            case Kind::allreduce:
                give(count_);
                expect_sums(0, count_);
                break;
            case Kind::broadcast:
                set_root();
                for (std::size_t i = 0; i < count_; ++i) {
                    expected_.push_back(number(call_.signature.root, i));
                }
                break;
            case Kind::allgather:
                prepare_allgather();
                break;
            case Kind::reduce_scatter:
                prepare_reduce_scatter();
                break;
            case Kind::alltoall:
            case Kind::alltoallv:
                prepare_alltoall();
                break;
            default:
                call_.signature = {};
                break;
        }
    }
    void prepare_allgather() {
        give(block(rank_));
        for (int r = 0; r < size_; ++r) {
            for (std::size_t i = 0; i < block(r); ++i) expected_.push_back(number(r, i));
        }
        name_blocks(expected_.size());
    }
    void prepare_reduce_scatter() {
        std::size_t at = 0, own = 0;
        for (int r = 0; r < size_; at += block(r++)) {
            if (r == rank_) own = at;
        }
        give(at);
        expect_sums(own, block(rank_));
        name_blocks(at);
    }
    void prepare_alltoall() {
        std::size_t sent = 0;
        for (int other = 0; other < size_; ++other) {
            std::size_t at = 0;
            for (int to = 0; to < rank_; ++to) at += block(other, to);
            for (std::size_t i = 0; i < block(other, rank_); ++i) {
                expected_.push_back(number(other, at + i));
            }
            sent += block(rank_, other);
            if (task_.kind == Kind::alltoall) continue;
            counts_.push_back(block(rank_, other));
            receive_counts_.push_back(block(other, rank_));
        }
        give(sent);
        if (task_.kind == Kind::alltoallv) call_.signature.count = 0;
    }
    void name_blocks(std::size_t all) {
        if (task_.even) return;
        for (int r = 0; r < size_; ++r) counts_.push_back(block(r));
        call_.signature.count = all;
    }

    // The receive buffer, and what the call says of both.
    void fill() {
        receive_.assign(expected_.size(), -1);
        auto* to = reinterpret_cast<std::byte*>(receive_.data());
        call_.receive = to;
        call_.send = reinterpret_cast<const std::byte*>(send_.data());
        if (task_.kind == Kind::broadcast) {
            call_.send = to;
            if (is_root()) receive_ = expected_;
        }
        if (!task_.in_place) return;
        std::size_t own = 0;
        for (int r = 0; task_.kind == Kind::allgather && r < rank_; ++r) own += block(r);
        std::copy(given_.begin(), given_.end(),
                  receive_.begin() + static_cast<std::ptrdiff_t>(own));
        call_.send = to + own * sizeof receive_[0];
    }

    Task task_;
    int rank_, size_;
    std::size_t count_;
    Call call_;
    Numbers send_, receive_, given_, expected_;
    std::vector<std::size_t> counts_, receive_counts_;
};

}  // namespace batchai::coll
