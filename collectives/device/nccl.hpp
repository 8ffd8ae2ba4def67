// SPDX-License-Identifier: Apache-2.0
//
// NcclComm: ranks whose GPUs exchange data by themselves, through NCCL, which is loaded when the
// first of them is made: the library runs where there is none.
//
// Nothing here waits. A communicator is made, and an operation put into its stream, by a thread of
// NCCL's own, which in the first operation of a kind also waits for the other ranks; ready() says
// whether it has done so. Until then nothing else of the communicator may be called, and nothing
// may be ordered in the operation's stream: an event recorded there could come before the
// operation. All ranks give their operations in the same order. Whoever waits for ready() looks at
// what else may have happened to the job, and destroys the communicator if so, which does not wait
// either.
//
// What NCCL does not promise: the order of a sum, a single rounding of numbers of 16 bits, and that
// minima and maxima keep a NaN. Booleans are to be 0 or 1. There is no average.
// One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "batchai/collectives.h"
#include "collectives/device/context.hpp"
#include "collectives/device/device.hpp"
#include "sys/result.hpp"

struct ncclComm;

namespace batchai::coll {

// "2.28.9": of the library that is loaded; an error where there is none or an old one.
sys::Result<std::string> nccl_version();

class NcclComm {
  public:
    // By which the ranks find each other: one of them makes it and tells the others. That rank
    // answers them from then on, until its process ends.
    using Id = std::array<std::byte, 128>;
    static sys::Result<Id> make_id();

    // Of the GPU that cudaSetDevice(device) would take. Not usable before ready().
    static sys::Result<std::unique_ptr<NcclComm>> create(const Id& id, int rank, int size,
                                                         int device);
    NcclComm(const NcclComm&) = delete;
    NcclComm& operator=(const NcclComm&) = delete;
    // Aborts what is under way, unless finish() was called and is done. Comes before the end of the
    // Device whose streams it has used, which waits for them.
    ~NcclComm();

    // Whether what was called last is done: creation or finish(), or whether the operation is in
    // its stream. An error also where an earlier operation has failed, here or on other ranks.
    sys::Result<bool> ready();

    // from holds `size` blocks of count numbers, one for each rank; to gets the reduction of this
    // rank's, and may be that block of from.
    sys::Result<void> reduce_scatter(const std::byte* from, std::byte* to, std::size_t count,
                                     batchai_coll_type type, batchai_coll_op op,
                                     Device::Stream stream);
    // to gets `size` blocks of count numbers, rank r's at r * count; from may be this rank's there.
    sys::Result<void> all_gather(const std::byte* from, std::byte* to, std::size_t count,
                                 batchai_coll_type type, Device::Stream stream);
    sys::Result<void> all_reduce(const std::byte* from, std::byte* to, std::size_t count,
                                 batchai_coll_type type, batchai_coll_op op, Device::Stream stream);

    // The end, on all ranks, after their last operation: waits for it and for the others, in
    // ready().
    sys::Result<void> finish();

  private:
    enum class State { working, finishing, finished };
    NcclComm(CudaContext context, ncclComm* comm) : context_(std::move(context)), comm_(comm) {}

    CudaContext context_;
    ncclComm* comm_;
    State state_ = State::working;
};

}  // namespace batchai::coll
