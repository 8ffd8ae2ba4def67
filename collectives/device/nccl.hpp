// SPDX-License-Identifier: Apache-2.0
//
// NcclComm: a StreamComm through NCCL: GPUs of several ranks exchange data directly. NCCL is loaded
// when the first NcclComm is made, so this library also runs without it.
//
// A thread of NCCL makes the communicator and puts operations into its stream. In the first
// operation of a kind it also waits for the other ranks. ready() reports whether it is done. While
// a caller waits for ready(), it checks for other failures of the job, and destroys the
// communicator if there is one. The destructor does not wait for other ranks. It waits for the end
// of graphs with operations of the communicator, and of other work on the GPU (aborts.hpp).
//
// NCCL does not guarantee the order of a sum, a single rounding of 16-bit numbers, or that minima
// and maxima preserve a NaN. Booleans must be 0 or 1. There is no average. One thread at a time may
// use it.
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

// "2.28.9": the version of the loaded library. An error: there is no NCCL, or it is too old.
sys::Result<std::string> nccl_version();

// Makes NcclComms on the GPU that cudaSetDevice(device) selects.
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
    // Aborts pending work, unless finish() has completed.
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

    // Collective, after the last operation: ends the communicator. ready() waits for this rank and
    // the others.
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
