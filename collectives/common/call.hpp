// SPDX-License-Identifier: Apache-2.0
//
// Call: one collective operation as a rank asked for it. Signature: the part of it that must be the
// same on all ranks. It is sent with every operation, so that a mismatch is noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "batchai/collectives.h"
#include "collectives/common/pieces.hpp"

namespace batchai::coll {

enum class Kind : std::uint8_t {
    barrier,
    allreduce,
    broadcast,
    allgather,
    finalize,
    reduce_scatter,
    alltoall,
    alltoallv,
    allocate,
    free,
};
constexpr Kind kLastKind = Kind::free;

struct Signature {
    std::uint64_t count = 0;       // alltoallv: 0
    double before = 1, after = 1;  // factors of a reduction
    std::int32_t root = 0;         // of a broadcast; of free: the region's number
    std::uint32_t layout = 0;  // a hash of the lengths, if blocks have different lengths; else 0
    Kind kind = Kind::barrier;
    std::uint8_t type = BATCHAI_COLL_UINT8;
    std::uint8_t op = BATCHAI_COLL_SUM;
    bool on_devices = false;  // the ranks only meet; device/ moves the data

    bool operator==(const Signature&) const = default;
};

constexpr std::uint8_t kLastType = BATCHAI_COLL_BOOL;

// Facts about all ranks' counts, which the ranks of an alltoallv exchange first.
struct BlockFacts {
    std::uint64_t longest = 0;  // elements of the longest block of all ranks
    std::uint64_t balance = 0;  // 0: every rank sends as many elements as the receiver expects
};

struct Call {
    Signature signature;
    const std::byte* send = nullptr;  // broadcast: the same buffer as receive
    std::byte* receive = nullptr;
    // Elements per block, by rank: the blocks of all ranks; in an alltoallv, the blocks to send.
    // Empty: every block has `count` elements.
    std::span<const std::size_t> counts = {};
    std::span<const std::size_t> receive_counts = {};  // only in an alltoallv
    const BlockFacts* facts = nullptr;                 // only in an alltoallv
    // The data of an allreduce, in place of send and receive.
    std::span<const Piece> pieces = {};
    // For pieces that begin with a veto number of this rank (veto.hpp): set to whether the reduced
    // number is NaN. Then a rank has vetoed the result, and nothing is received.
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

// The bytes that go between the ranks.
inline std::size_t bytes_of(const Signature& signature) {
    return signature.on_devices ? 0 : signature.count * type_size(signature.type);
}

// The ranks only meet: no data.
inline bool is_empty(const Signature& signature) {
    if (signature.on_devices) return true;
    return signature.count == 0 && signature.kind != Kind::alltoallv;
}

// Whether it is an allreduce with data.
inline bool reduces_numbers(const Signature& signature) {
    return !is_empty(signature) && signature.kind == Kind::allreduce;
}

// "allreduce (sum) of 5 float32", "broadcast of 7 int64 from rank 3".
std::string describe(const Signature& signature);

// The reason for a failure; its sentence is for batchai_coll_last_error.
struct Failure {
    batchai_coll_status status = BATCHAI_COLL_OK;
    std::string sentence;
};

}  // namespace batchai::coll
