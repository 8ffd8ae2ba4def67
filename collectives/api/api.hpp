// SPDX-License-Identifier: Apache-2.0
//
// The shared parts of the C interface's files: the last error's sentence, and a catch for
// exceptions.
#pragma once

#include <memory>
#include <string>

#include "batchai/collectives.h"
#include "collectives/comm/comm.hpp"
#include "collectives/device/device_comm.hpp"

struct batchai_coll_comm {
    std::unique_ptr<batchai::coll::Communicator> communicator;
    std::string plan;
};

struct batchai_coll_device {
    std::unique_ptr<batchai::coll::DeviceCommunicator> communicator;
};

namespace batchai::coll::api {

// BATCHAI_COLL_DEBUG=plan: rank 0 prints it.
void show_plan(const std::string& plan, int rank);
// Keeps the sentence for batchai_coll_last_error; returns the status.
batchai_coll_status fail(batchai_coll_status status, const std::string& sentence);
batchai_coll_status bad_argument(const char* function, const std::string& what);
batchai_coll_status bad_argument(const char* function, const sys::Error& error);
// Handles an exception: out of memory is the only one that is known to occur.
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

// The status of an operation; keeps the sentence of a failure.
batchai_coll_status concluded(const Engine& engine, batchai_coll_status status);

// The GPU of that number; -1: of the local rank's, from 0 again where there are fewer.
sys::Result<Gpu> open_gpu(int number, int local_rank);

}  // namespace batchai::coll::api
