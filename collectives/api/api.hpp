// SPDX-License-Identifier: Apache-2.0
//
// What the files of the C interface share: the last error's sentence, a stop for exceptions, checks
// of arguments.
#pragma once

#include <memory>
#include <string>

#include "batchai/collectives.h"
#include "collectives/comm/comm.hpp"

struct batchai_coll_comm {
    std::unique_ptr<batchai::coll::Communicator> communicator;
    std::string plan;
};

namespace batchai::coll {
struct Gpu;
}

namespace batchai::coll::api {

// BATCHAI_COLL_DEBUG=plan: rank 0 prints it.
void show_plan(const std::string& plan, int rank);
// Keeps the sentence for batchai_coll_last_error; returns the status.
batchai_coll_status fail(batchai_coll_status status, const std::string& sentence);
batchai_coll_status bad_argument(const char* function, const std::string& what);
batchai_coll_status bad_argument(const char* function, const sys::Error& error);
// For exceptions: out of memory is the only one that is known to come.
batchai_coll_status fail_by_exception() noexcept;

// Runs what may throw.
template <class Body>
batchai_coll_status guarded(Body body) noexcept {
    try {
        return body();
    } catch (...) {
        return fail_by_exception();
    }
}

// Starts an operation whose arguments have been checked.
batchai_coll_status start(batchai_coll_comm* comm, const Call& call,
                          batchai_coll_request** request);

// The status of an operation; keeps the sentence of a failure.
batchai_coll_status concluded(const Engine& engine, batchai_coll_status status);

// The blocking form of an operation.
template <class Start>
batchai_coll_status blocking(Start start_async) {
    batchai_coll_request* request = nullptr;
    const batchai_coll_status status = start_async(&request);
    return status == BATCHAI_COLL_OK ? batchai_coll_wait(request) : status;
}

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes);
sys::Result<void> check_type(batchai_coll_type type);
// Whether the bytes of count elements of a valid type from each of `ranks` can be counted.
sys::Result<void> check_count(std::size_t count, batchai_coll_type type, int ranks = 1);
sys::Result<void> check_root(int root, int ranks);
// The sum of the counts of a valid type.
sys::Result<std::size_t> sum_of(std::span<const std::size_t> counts, batchai_coll_type type);
// Of blocks of different lengths: what has to be the same on all ranks. Not 0.
std::uint32_t layout_of(std::span<const std::size_t> counts);
// Gives the signature of a reduction its operation and factors; scaling may be null.
sys::Result<void> set_reduction(Signature& signature, batchai_coll_op op,
                                const batchai_coll_scaling* scaling);
Signature signature_of(Kind kind, std::size_t count, batchai_coll_type type);

// The GPU of that number; -1: of the local rank's, from 0 again where there are fewer.
sys::Result<Gpu> open_gpu(int number, int local_rank);

}  // namespace batchai::coll::api
