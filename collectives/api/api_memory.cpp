// SPDX-License-Identifier: Apache-2.0
//
// The C interface to memory that the ranks of a node can address of each other.
#include "collectives/api/api.hpp"

using namespace batchai::coll;
using namespace batchai::coll::api;

extern "C" {

batchai_coll_status batchai_coll_allocate(batchai_coll_comm* comm, size_t bytes, void** memory) {
    return guarded([&] {
        constexpr const char* kName = "allocate";
        if (memory != nullptr) *memory = nullptr;
        if (comm == nullptr || memory == nullptr) return bad_argument(kName, "a null argument");
        const auto allocated = comm->communicator->allocate(bytes);
        const Engine& engine = comm->communicator->engine();
        if (engine.failure().status != BATCHAI_COLL_OK) {
            return concluded(engine, engine.failure().status);
        }
        if (!allocated) return fail(BATCHAI_COLL_ERR_SYSTEM, allocated.error().in(kName).message);
        *memory = *allocated;
        return BATCHAI_COLL_OK;
    });
}

batchai_coll_status batchai_coll_free(batchai_coll_comm* comm, void* memory) {
    return guarded([&] {
        if (comm == nullptr) return bad_argument("free", "comm is null");
        const std::uint32_t region = comm->communicator->region_of(memory);
        if (region == 0) return bad_argument("free", "allocate did not return this address");
        const Failure failure = comm->communicator->release(region);
        return failure.status == BATCHAI_COLL_OK ? BATCHAI_COLL_OK
                                                 : fail(failure.status, failure.sentence);
    });
}

}  // extern "C"
