// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the C interface's files: the message of the last error, and a handler for
// exceptions.
#pragma once

#include <memory>
#include <string>

#include "batchai/collectives.h"
#include "collectives/comm/comm.hpp"
#include "collectives/device/device_comm.hpp"

namespace batchai::coll::api {

// Knows whether this process is a child of fork() of the process that made the object. Both would
// take part as one rank. Cheaper than getpid().
class Maker {
  public:
    Maker();
    bool is_this_process() const;

  private:
    unsigned forks_;  // between the process that has loaded the library and the maker
};

}  // namespace batchai::coll::api

struct batchai_coll_comm {
    std::unique_ptr<batchai::coll::Communicator> communicator;
    std::string plan;
    batchai::coll::api::Maker maker = {};
};

namespace batchai::coll::api {

// Rank 0 prints the plan if BATCHAI_COLL_DEBUG=plan.
void show_plan(const std::string& plan, int rank);
// Keeps the message for batchai_coll_last_error; returns the status.
batchai_coll_status fail(batchai_coll_status status, const std::string& sentence);
batchai_coll_status bad_argument(const char* function, const std::string& what);
batchai_coll_status bad_argument(const char* function, const sys::Error& error);
// The error of an operation in a child of fork().
batchai_coll_status refuse_child(const char* function);
// Handles an exception. Out of memory is the only one that is known to occur.
batchai_coll_status fail_by_exception() noexcept;

// Runs a function that may throw.
template <class Body>
batchai_coll_status guarded(Body body) noexcept {
    try {
        return body();
    } catch (...) {
        return fail_by_exception();
    }
}

// The status of an operation. Keeps the message of a failure.
batchai_coll_status concluded(const Engine& engine, batchai_coll_status status);

// The GPU with that number; -1: the local rank's number, modulo the number of GPUs.
sys::Result<Gpu> open_gpu(int number, int local_rank);

}  // namespace batchai::coll::api
