// SPDX-License-Identifier: Apache-2.0
//
// MeetingComm: a StreamComm of ranks in one thread, over their HostDevices, for tests of what uses
// NCCL. An operation is in its stream only some ready()s after it was given, as NCCL's may be, once
// all ranks have come with the same one.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "collectives/common/call.hpp"
#include "collectives/device/stream_comm.hpp"
#include "collectives/reduce/kernels.hpp"
#include "value_of.hpp"

namespace batchai::coll {

class MeetingComm final : public StreamComm {
  public:
    // What the ranks share.
    struct Meeting {
        struct Operation {
            char kind;
            std::size_t count;
            batchai_coll_type type;
            batchai_coll_op op;
            bool operator==(const Operation&) const = default;
        };
        std::vector<std::byte*> given[2];  // by operation, by turns; by rank
        std::deque<Operation> operations;  // all that there were
        std::vector<std::size_t> arrived;  // by rank: of how many the data is there
    };

    static constexpr std::size_t kMemory = 1u << 20;

    MeetingComm(Device& device, Meeting& meeting, int rank, int ranks)
        : device_(device), meeting_(meeting), rank_(rank), ranks_(static_cast<std::size_t>(ranks)) {
        for (auto& given : meeting_.given) {
            given.resize(ranks_);
            given[rank_] = value_of(device_.allocate(kMemory));
        }
        result_ = value_of(device_.allocate(kMemory));
        came_ = value_of(device_.make_event());
        left_ = value_of(device_.make_event());
        meeting_.arrived.resize(ranks_, 0);
    }

    sys::Result<bool> ready() override {
        if (!under_way_) return true;
        if (!value_of(device_.query(came_)) || !value_of(device_.query(left_))) return false;
        meeting_.arrived[rank_] = done_ + 1;
        for (const std::size_t arrived : meeting_.arrived) {
            if (arrived <= done_) return false;
        }
        complete();
        return true;
    }

    sys::Result<void> reduce_scatter(const std::byte* from, std::byte* to, std::size_t count,
                                     batchai_coll_type type, batchai_coll_op op,
                                     Device::Stream stream) override {
        return begin({'s', count, type, op}, from, count * ranks_, to, stream);
    }
    sys::Result<void> all_gather(const std::byte* from, std::byte* to, std::size_t count,
                                 batchai_coll_type type, Device::Stream stream) override {
        return begin({'g', count, type, BATCHAI_COLL_SUM}, from, count, to, stream);
    }
    sys::Result<void> all_reduce(const std::byte* from, std::byte* to, std::size_t count,
                                 batchai_coll_type type, batchai_coll_op op,
                                 Device::Stream stream) override {
        return begin({'r', count, type, op}, from, count, to, stream);
    }

    sys::Result<void> finish() override { return {}; }

  private:
    sys::Result<void> begin(const Meeting::Operation& operation, const std::byte* from,
                            std::size_t numbers, std::byte* to, Device::Stream stream) {
        if (under_way_) return sys::Error{"two operations at a time"};
        if (meeting_.operations.size() == done_) meeting_.operations.push_back(operation);
        if (!(meeting_.operations[done_] == operation)) {
            return sys::Error{"the ranks do not give the same operations"};
        }
        under_way_ = true;
        to_ = to;
        stream_ = stream;
        auto copied = device_.copy(given(rank_), from, numbers * type_size(operation.type), stream);
        if (!copied) return copied;
        return device_.record(came_, stream);
    }

    std::byte* given(std::size_t rank) { return meeting_.given[done_ % 2][rank]; }

    void complete() {
        const Meeting::Operation& operation = meeting_.operations[done_];
        const std::size_t bytes = operation.count * type_size(operation.type);
        std::size_t made = bytes;
        if (operation.kind == 'g') {
            for (std::size_t r = 0; r < ranks_; ++r) {
                std::memcpy(result_ + r * bytes, given(r), bytes);
            }
            made = bytes * ranks_;
        } else {
            std::vector<const void*> inputs;
            for (std::size_t r = 0; r < ranks_; ++r) {
                inputs.push_back(given(r) + (operation.kind == 's' ? rank_ * bytes : 0));
            }
            reduction_of(static_cast<std::uint8_t>(operation.type),
                         static_cast<std::uint8_t>(operation.op))
                .combine(result_, inputs.data(), static_cast<int>(ranks_), operation.count, {});
        }
        value_of(device_.copy(to_, result_, made, stream_));
        value_of(device_.record(left_, stream_));
        under_way_ = false;
        ++done_;
    }

    Device& device_;
    Meeting& meeting_;
    std::size_t rank_, ranks_;
    std::byte* result_;
    Device::Event came_, left_;
    bool under_way_ = false;
    std::size_t done_ = 0;
    std::byte* to_ = nullptr;
    Device::Stream stream_ = nullptr;
};

}  // namespace batchai::coll
