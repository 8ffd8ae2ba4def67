// SPDX-License-Identifier: Apache-2.0
//
// NcclComm: a StreamComm through NCCL: GPUs of several ranks exchange data by themselves. NCCL is
// loaded when the first NcclComm is made, so this library also runs without it.
//
// A thread of NCCL makes the communicator and puts operations into its stream. In the first
// operation of a kind it also waits for the other ranks. ready() says whether it is done. A caller
// that waits for ready() checks for other failures of the job meanwhile, and destroys the
// communicator if there is one. The destructor does not wait for other ranks. But it waits for the
// end of graphs with operations of the communicator, and of other work on the GPU (aborts.hpp).
//
// NCCL does not promise the order of a sum, a single rounding of numbers of 16 bits, or that minima
// and maxima keep a NaN. Booleans must be 0 or 1. There is no average. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "batchai/collectives.h"
#include "collectives/device/context.hpp"
#include "collectives/device/stream_comm.hpp"
#include "sys/result.hpp"

struct ncclComm;

namespace batchai::coll {

// "2.28.9": of the library that is loaded; an error where there is none or an old one.
sys::Result<std::string> nccl_version();

// Of the GPU that cudaSetDevice(device) would take.
class NcclComms final : public StreamComms {
  public:
    explicit NcclComms(int device) : device_(device) {}
    bool are_possible() override { return nccl_version().has_value(); }
    sys::Result<Id> make_id() override;
    sys::Result<std::unique_ptr<StreamComm>> create(const Id& id, int rank, int size) override;

  private:
    int device_;
};

class NcclComm final : public StreamComm {
  public:
    // Aborts what is under way, unless finish() was called and is done.
    ~NcclComm() override;

    sys::Result<bool> ready() override;
    sys::Result<void> reduce_scatter(const std::byte* from, std::byte* to, std::size_t count,
                                     batchai_coll_type type, batchai_coll_op op,
                                     Device::Stream stream) override;
    sys::Result<void> all_gather(const std::byte* from, std::byte* to, std::size_t count,
                                 batchai_coll_type type, Device::Stream stream) override;
    sys::Result<void> all_reduce(const std::byte* from, std::byte* to, std::size_t count,
                                 batchai_coll_type type, batchai_coll_op op,
                                 Device::Stream stream) override;

    // The end, on all ranks, after their last operation: waits for it and for the others, in
    // ready().
    sys::Result<void> finish() override;

  private:
    friend class NcclComms;
    enum class State { working, finishing, finished };
    NcclComm(CudaContext context, ncclComm* comm) : context_(std::move(context)), comm_(comm) {}

    CudaContext context_;
    ncclComm* comm_;
    State state_ = State::working;
};

}  // namespace batchai::coll
