// SPDX-License-Identifier: Apache-2.0
//
// Call: one collective operation as a rank asked for it. Signature: the part of it that has to be
// the same on all ranks; it travels with every operation so that a mismatch is noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "batchai/collectives.h"
#include "collectives/common/memory.hpp"
#include "collectives/common/pieces.hpp"

namespace batchai::coll {

enum class Kind : std::uint8_t {
    barrier,
    allreduce,
    broadcast,
    allgather,
    finalize,
    reduce,
    reduce_scatter,
    alltoall,
    alltoallv,
    allocate,
    free,
    direct_scatter,  // these two: algorithm/direct_halves.hpp
    direct_gather,
};
constexpr Kind kLastKind = Kind::direct_gather;

struct Signature {
    std::uint64_t count = 0;       // of alltoallv: 0
    double before = 1, after = 1;  // factors of a reduction
    std::int32_t root = 0;         // of a broadcast or a reduce; of free: which memory
    std::uint32_t layout = 0;      // of blocks of different lengths: a hash of the lengths
    Kind kind = Kind::barrier;
    std::uint8_t type = BATCHAI_COLL_UINT8;
    std::uint8_t op = BATCHAI_COLL_SUM;
    bool on_devices = false;  // the ranks only meet: the data takes other ways (device/)
    bool captured = false;    // on devices, into a graph

    bool operator==(const Signature&) const = default;
};

constexpr std::uint8_t kLastType = BATCHAI_COLL_BOOL;

// Facts about each other's counts that the ranks of an alltoallv find out first.
struct BlockFacts {
    std::uint64_t longest = 0;  // elements of the longest block of all
    std::uint64_t balance = 0;  // not 0: a rank sends another count than its receiver expects
};

struct Call {
    Signature signature;
    const std::byte* send = nullptr;  // of a broadcast: the buffer, as receive
    std::byte* receive = nullptr;
    // Elements of the blocks by rank: of all ranks, of what an alltoallv sends. Empty: `count`.
    std::span<const std::size_t> counts = {};
    std::span<const std::size_t> receive_counts = {};  // of an alltoallv
    const BlockFacts* facts = nullptr;                 // of an alltoallv
    // Of an allreduce: its data, instead of send and receive.
    std::span<const Piece> pieces = {};
    Memory memory = Memory::host;  // of send and receive; another one in direct halves alone
    // Of pieces that begin with a number of this rank's own: set where the result of that is NaN,
    // by which some rank has said that the result is not wanted. Nothing is received then.
    bool* vetoed = nullptr;
};

inline std::size_t type_size(std::uint8_t type) {
    switch (type) {
        case BATCHAI_COLL_FLOAT32:
        case BATCHAI_COLL_INT32:
            return 4;
        case BATCHAI_COLL_FLOAT64:
        case BATCHAI_COLL_INT64:
            return 8;
        case BATCHAI_COLL_FLOAT16:
        case BATCHAI_COLL_BFLOAT16:
            return 2;
        default:
            return 1;
    }
}

// Of what goes between the ranks.
inline std::size_t bytes_of(const Signature& signature) {
    return signature.on_devices ? 0 : signature.count * type_size(signature.type);
}

// The ranks only meet.
inline bool is_empty(const Signature& signature) {
    if (signature.on_devices) return true;
    return signature.count == 0 && signature.kind != Kind::alltoallv;
}

// Ranks have numbers that are combined, for all of them or the root.
inline bool reduces_numbers(const Signature& signature) {
    return !is_empty(signature) &&
           (signature.kind == Kind::allreduce || signature.kind == Kind::reduce);
}

// "allreduce (sum) of 5 float32", "broadcast of 7 int64 from rank 3".
std::string describe(const Signature& signature);

// A reason to give up, for batchai_coll_last_error.
struct Failure {
    batchai_coll_status status = BATCHAI_COLL_OK;
    std::string sentence;
};

}  // namespace batchai::coll
