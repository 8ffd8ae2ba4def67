// SPDX-License-Identifier: Apache-2.0
#include "operation.hpp"

#include <algorithm>
#include <cstring>

namespace batchai::bench {
namespace {

constexpr std::size_t kPeriod = 1000;

float input(std::size_t index, std::size_t rank) {
    return static_cast<float>((index * 7 + rank * 13) % kPeriod);
}

// Whether the numbers are the pattern's, which has two periods, from its number `first` on.
bool same(const float* numbers, std::size_t count, const std::vector<float>& pattern,
          std::size_t first) {
    const float* expected = pattern.data() + first % kPeriod;
    for (std::size_t i = 0; i < count; i += kPeriod) {
        const std::size_t length = std::min(kPeriod, count - i);
        if (std::memcmp(numbers + i, expected, length * sizeof(float)) != 0) return false;
    }
    return true;
}

}  // namespace

Operation::Kind Operation::kind_of(const std::string& name) {
    if (name == "allreduce") return Kind::Allreduce;
    if (name == "broadcast") return Kind::Broadcast;
    if (name == "allgather") return Kind::Allgather;
    if (name == "reduce-scatter") return Kind::ReduceScatter;
    if (name == "all-to-all") return Kind::AllToAll;
    fail("driver: " + name + ": unknown operation");
}

Operation::Operation(const std::string& name, Library& library)
    : kind_(kind_of(name)),
      library_(library),
      rank_(static_cast<std::size_t>(library.rank())),
      ranks_(static_cast<std::size_t>(library.size())),
      inputs_(ranks_, std::vector<float>(2 * kPeriod)),
      sums_(2 * kPeriod) {
    for (std::size_t i = 0; i < 2 * kPeriod; ++i) {
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            sums_[i] += inputs_[rank][i] = input(i, rank);
        }
    }
}

void Operation::fill(float* send, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) send[i] = input(i, rank_);
}

void Operation::run(float* send, float* receive, std::size_t count) const {
    switch (kind_) {
        case Kind::Allreduce:
            return library_.allreduce(send, receive, count);
        case Kind::Broadcast:
            return library_.broadcast(rank_ == 0 ? send : receive, count);
        case Kind::Allgather:
            return library_.allgather(send, receive, count / ranks_);
        case Kind::ReduceScatter:
            return library_.reduce_scatter(send, receive, count / ranks_);
        case Kind::AllToAll:
            return library_.all_to_all(send, receive, count / ranks_);
    }
}

bool Operation::is_right(const float* send, const float* receive, std::size_t count) const {
    const std::size_t block = count / ranks_;
    bool right = true;
    switch (kind_) {
        case Kind::Allreduce:
            return same(receive, count, sums_, 0);
        case Kind::Broadcast:
            return same(rank_ == 0 ? send : receive, count, inputs_[0], 0);
        case Kind::ReduceScatter:
            return same(receive, block, sums_, rank_ * block);
        case Kind::Allgather:
            for (std::size_t rank = 0; rank < ranks_; ++rank) {
                right = right && same(receive + rank * block, block, inputs_[rank], 0);
            }
            return right;
        case Kind::AllToAll:
            for (std::size_t rank = 0; rank < ranks_; ++rank) {
                right = right && same(receive + rank * block, block, inputs_[rank], rank_ * block);
            }
            return right;
    }
    return false;
}

}  // namespace batchai::bench
