// SPDX-License-Identifier: Apache-2.0
#include "collectives/api/api_calls.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace batchai::coll::api {
namespace {

bool is_floating(std::uint8_t type) {
    return type == BATCHAI_COLL_FLOAT32 || type == BATCHAI_COLL_FLOAT64 ||
           type == BATCHAI_COLL_FLOAT16 || type == BATCHAI_COLL_BFLOAT16;
}

// Whether the bytes of `count` elements of a valid type from each of `ranks` fit std::ptrdiff_t.
bool fits(std::size_t count, batchai_coll_type type, int ranks = 1) {
    std::ptrdiff_t bytes = 0;
    return !__builtin_mul_overflow(count, type_size(static_cast<std::uint8_t>(type)), &bytes) &&
           !__builtin_mul_overflow(bytes, ranks, &bytes);
}

sys::Result<std::size_t> sum_of(std::span<const std::size_t> counts, batchai_coll_type type) {
    std::size_t sum = 0;
    for (const std::size_t count : counts) {
        if (!fits(count, type) || !fits(sum + count, type)) {
            return sys::Error{"the counts are too large"};
        }
        sum += count;
    }
    return sum;
}

// A hash of the lengths of blocks, which must be the same on all ranks. It is never 0.
std::uint32_t layout_of(std::span<const std::size_t> counts) {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    for (const std::size_t count : counts) hash = (hash ^ count) * 0x100000001b3ull ^ hash >> 29;
    return static_cast<std::uint32_t>(hash >> 32) | 1;  // 0 means no hash
}

// Each function below returns one named variable, so that the compiler builds it in the caller's
// place. Moving a call takes longer than all checks of a short message.

// Makes a call of `count` elements; if it has blocks, of each of `blocks` ranks.
sys::Result<CheckedCall> call_of(Kind kind, const Buffers& buffers, std::size_t count,
                                 int blocks = 1) {
    sys::Result<CheckedCall> made = CheckedCall{};
    if (buffers.type < BATCHAI_COLL_FLOAT32 || buffers.type > kLastType) {
        made = sys::Error{fmt::format("unknown type {}", static_cast<int>(buffers.type))};
    } else if (!fits(count, buffers.type, blocks)) {
        made = sys::Error{"the count is too large"};
    } else {
        made->call.send = static_cast<const std::byte*>(buffers.send);
        made->call.receive = static_cast<std::byte*>(buffers.receive);
        made->call.signature.kind = kind;
        made->call.signature.count = count;
        made->call.signature.type = static_cast<std::uint8_t>(buffers.type);
        made->given = made->got = count;
    }
    return made;
}

// A call with a block of its own length for each rank.
sys::Result<CheckedCall> call_of_blocks(Kind kind, Ranks ranks, const Buffers& buffers,
                                        const std::size_t* counts) {
    if (counts == nullptr) return sys::Error{"a null argument"};
    auto made = call_of(kind, buffers, 0);
    if (!made) return made.error();
    const std::span blocks(counts, static_cast<std::size_t>(ranks.all));
    const auto sum = sum_of(blocks, buffers.type);
    if (!sum) return sum.error();
    made->call.counts = blocks;
    made->call.signature.count = *sum;
    made->call.signature.layout = layout_of(blocks);
    made->given = made->got = *sum;
    return made;
}

sys::Result<void> set_reduction(Signature& signature, const Reduction& reduction) {
    const auto& [op, scaling] = reduction;
    if (op < BATCHAI_COLL_SUM || op > BATCHAI_COLL_PRODUCT) {
        return sys::Error{fmt::format("unknown reduction {}", static_cast<int>(op))};
    }
    if (op == BATCHAI_COLL_AVERAGE && signature.type == BATCHAI_COLL_BOOL) {
        return sys::Error{"booleans have no average: use sum or max (or), min or product (and)"};
    }
    signature.op = static_cast<std::uint8_t>(op);
    if (scaling == nullptr) return {};
    if (!std::isfinite(scaling->before) || !std::isfinite(scaling->after)) {
        return sys::Error{fmt::format("the factors {} and {} are not both finite", scaling->before,
                                      scaling->after)};
    }
    if ((scaling->before != 1 || scaling->after != 1) && !is_floating(signature.type)) {
        return sys::Error{"factors need a floating-point type"};
    }
    signature.before = scaling->before;
    signature.after = scaling->after;
    return {};
}

// Completes a call, or puts an error in its place. An error stays as it is.
void add_reduction(sys::Result<CheckedCall>& made, const Reduction& reduction) {
    if (!made) return;
    if (auto good = set_reduction(made->call.signature, reduction); !good) made = good.error();
}

}  // namespace

sys::Result<CheckedCall> allreduce(Ranks, const Buffers& buffers, std::size_t count,
                                   const Reduction& reduction) {
    auto made = call_of(Kind::allreduce, buffers, count);
    add_reduction(made, reduction);
    if (made) made->in_place = 0;
    return made;
}

sys::Result<CheckedCall> broadcast(Ranks ranks, void* buffer, batchai_coll_type type,
                                   std::size_t count, int root) {
    auto made = call_of(Kind::broadcast, {buffer, buffer, type}, count);
    if (root < 0 || root >= ranks.all) {
        made = sys::Error{fmt::format("root: there is no rank {}", root)};
    } else if (made) {
        made->call.signature.root = root;
        made->in_place = 0;
    }
    return made;
}

sys::Result<CheckedCall> allgather(Ranks ranks, const Buffers& buffers, std::size_t count) {
    auto made = call_of(Kind::allgather, buffers, count, ranks.all);
    if (!made) return made;
    made->got = count * static_cast<std::size_t>(ranks.all);
    made->in_place = count * static_cast<std::size_t>(ranks.own);
    return made;
}

sys::Result<CheckedCall> alltoall(Ranks ranks, const Buffers& buffers, std::size_t count) {
    auto made = call_of(Kind::alltoall, buffers, count, ranks.all);
    if (made) made->given = made->got = count * static_cast<std::size_t>(ranks.all);
    return made;
}

sys::Result<CheckedCall> allgatherv(Ranks ranks, const Buffers& buffers,
                                    const std::size_t* counts) {
    auto made = call_of_blocks(Kind::allgather, ranks, buffers, counts);
    if (!made) return made;
    made->given = counts[ranks.own];
    made->in_place = std::accumulate(counts, counts + ranks.own, std::size_t{0});
    return made;
}

sys::Result<CheckedCall> reduce_scatter(Ranks ranks, const Buffers& buffers,
                                        const std::size_t* counts, const Reduction& reduction) {
    auto made = call_of_blocks(Kind::reduce_scatter, ranks, buffers, counts);
    if (made) made->got = counts[ranks.own];
    add_reduction(made, reduction);
    return made;
}

// Every rank has its own counts. The ranks check later that they match.
sys::Result<CheckedCall> alltoallv(Ranks ranks, const Buffers& buffers,
                                   const std::size_t* send_counts,
                                   const std::size_t* receive_counts) {
    auto made = call_of_blocks(Kind::alltoallv, ranks, buffers, send_counts);
    if (!made) return made;
    const auto received = call_of_blocks(Kind::alltoallv, ranks, buffers, receive_counts);
    if (!received) return received;
    if (send_counts[ranks.own] != receive_counts[ranks.own]) {
        return sys::Error{
            "the count that this rank sends to itself differs from the count it receives"};
    }
    made->call.signature.count = made->call.signature.layout = 0;
    made->call.receive_counts = received->call.counts;
    made->got = received->got;
    return made;
}

sys::Result<void> check_buffers(const CheckedCall& checked) {
    if ((checked.given > 0 && checked.call.send == nullptr) ||
        (checked.got > 0 && checked.call.receive == nullptr)) {
        return sys::Error{"a null buffer"};
    }
    return {};
}

sys::Result<void> check_overlap(const CheckedCall& checked) {
    if (checked.given == 0 || checked.got == 0) return {};
    const std::size_t element = type_size(checked.call.signature.type);
    const std::byte *send = checked.call.send, *receive = checked.call.receive;
    if (checked.in_place && send == receive + *checked.in_place * element) return {};
    const std::less<const std::byte*> before;
    if (!before(send, receive + checked.got * element) ||
        !before(receive, send + checked.given * element)) {
        return {};
    }
    if (!checked.in_place) return sys::Error{"send and receive overlap"};
    if (checked.call.signature.kind == Kind::allgather) {
        return sys::Error{"send overlaps receive: in place, send is this rank's block of receive"};
    }
    return sys::Error{"send and receive overlap: in place, they are the same"};
}

}  // namespace batchai::coll::api
