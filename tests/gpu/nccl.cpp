// SPDX-License-Identifier: Apache-2.0
//
// NCCL on a machine with one GPU, where it takes one rank of a node only: two virtual nodes of a
// rank each, whose exchange inside the node is NCCL's of one rank, and whose parts go through host
// memory. Machines with more GPUs also take NCCL's ways in allreduce.cpp.
#include <cstring>

#include "collectives/comm/comm.hpp"
#include "collectives/device/cuda.hpp"
#include "collectives/device/nccl.hpp"
#include "collectives/device/pinned_rail.hpp"
#include "collectives/device/split_rails.hpp"
#include "collectives/device/stream_exchange.hpp"
#include "drive.hpp"
#include "harness.hpp"
#include "memory.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;

namespace {

constexpr std::size_t kChunk = 1u << 20;
constexpr std::size_t kCount = 3'000'001;

std::unique_ptr<StreamComm> comm_of_one() {
    NcclComms comms(0);
    auto comm = value_of(comms.create(value_of(comms.make_id()), 0, 1));
    while (!value_of(comm->ready())) {
    }
    return comm;
}

void reduce_through_nccl(int rank, Board& board) {
    if (const auto version = nccl_version(); !version) throw Skipped(version.error().message);
    auto comm = value_of(Communicator::create(std::make_unique<BoardBootstrap>(board, 0, rank, 2)));
    const auto device = value_of(CudaDevice::create(0));
    Orders orders(*device);
    const auto nccl = comm_of_one();
    const auto exchange = value_of(StreamExchange::create(*device, orders, *nccl, 0, 1, kChunk));
    const auto rail =
        value_of(PinnedRail::create(*device, orders, comm->engine(), exchange->part_bytes()));
    auto rails = value_of(SplitRails::create({*device, orders, *exchange, rail.get(), 2}));

    const std::size_t bytes = kCount * sizeof(float);
    std::byte* memory = value_of(device->allocate(2 * bytes));
    auto* host = reinterpret_cast<float*>(value_of(device->allocate_pinned(bytes)));
    const auto stream = value_of(device->make_stream());
    const auto end = value_of(device->make_event());
    for (const bool in_place : {false, true}) {
        for (std::size_t i = 0; i < kCount; ++i)
            host[i] = static_cast<float>(static_cast<int>(i % 100) + rank);
        value_of(device->copy(memory, reinterpret_cast<std::byte*>(host), bytes, stream));
        DeviceCall call = allreduce_call(memory, in_place ? memory : memory + bytes, kCount,
                                         BATCHAI_COLL_FLOAT32, BATCHAI_COLL_AVERAGE);
        call.stream = stream;
        drive(*rails, orders, call);
        value_of(device->copy(reinterpret_cast<std::byte*>(host), call.receive, bytes, stream));
        value_of(device->record(end, stream));
        while (!value_of(device->query(end))) {
        }
        for (std::size_t i = 0; i < kCount; ++i) {
            if (host[i] != static_cast<float>(i % 100) + 0.5f)
                throw std::runtime_error("a wrong mean");
        }
    }
    value_of(nccl->finish());
    while (!value_of(nccl->ready())) {
    }
    device->close();
    rails.reset();
    if (const Failure failed = comm->finalize(); failed.status != BATCHAI_COLL_OK) {
        throw std::runtime_error(failed.sentence);
    }
    comm.reset();  // it lets go of pinned memory, before the device does
}

// Not in a short run: compute-sanitizer would take minutes to go through NCCL's own kernels.
const Registered kNccl{"nccl_of_one_rank", false, [] { run_ranks({1, 1}, reduce_through_nccl); }};

}  // namespace
