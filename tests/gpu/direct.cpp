// SPDX-License-Identifier: Apache-2.0
//
// Rails from GPU to GPU, beside those through pinned memory: two virtual nodes of a rank each. Only
// where UCX carries CUDA's memory, which Debian's does not.
#include "collectives/comm/comm.hpp"
#include "collectives/device/cuda.hpp"
#include "harness.hpp"
#include "rails_compared.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;

namespace {

void compare(int rank, Board& board) {
    auto comm = value_of(Communicator::create(std::make_unique<BoardBootstrap>(board, 0, rank, 2)));
    if (!comm->engine().carries(Memory::cuda))
        throw Skipped("this UCX does not carry CUDA's memory");
    const auto device = value_of(CudaDevice::create(0));
    if (const std::string wrong = test::compare_rails(*comm, *device); !wrong.empty()) {
        throw std::runtime_error(wrong);
    }
    device->close();
    if (const Failure failed = comm->finalize(); failed.status != BATCHAI_COLL_OK) {
        throw std::runtime_error(failed.sentence);
    }
    const Device::Entered here(*device);
    comm.reset();  // it lets go of the device's memory, before the device does
}

const Registered kDirect{"gpu_direct", true, [] { run_ranks({1, 1}, compare); }};

}  // namespace
