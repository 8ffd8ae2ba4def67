// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong: memory that is not the GPU's, ranks that call something else, a rank that is
// killed. No rank waits for ever, whatever the others do: each has
// an alarm, which would fail the test.
#include "job.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;

namespace {

constexpr std::size_t kCount = 2'000'003;

batchai_coll_status start(Job& job, const void* send, void* receive, cudaStream_t stream,
                          batchai_coll_device_request** request) {
    return batchai_coll_device_allreduce_async(job.device(), send, receive, kCount,
                                               BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, nullptr,
                                               stream, request);
}

// The numbers are zeros.
void expect_to_work(Job& job, const GpuMemory& memory, cudaStream_t stream) {
    job.allreduce(memory.data(), memory.data(), kCount, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM,
                  nullptr, stream);
    cuda(cudaStreamSynchronize(stream), "waiting");
}

const Registered kArguments{
    "bad_arguments", true, [] {
        run_ranks({2}, [](int rank, Board& board) {
            Job job(board, rank, 2, places().front());
            {
                const Stream stream;
                const GpuMemory memory(2 * kCount * sizeof(float));
                cuda(cudaMemset(memory.data(), 0, 2 * kCount * sizeof(float)), "clearing");
                cuda(cudaDeviceSynchronize(), "clearing");
                std::vector<float> host(kCount);
                const PinnedMemory pinned(kCount * sizeof(float));
                batchai_coll_device_request* request = nullptr;
                const auto bad = BATCHAI_COLL_ERR_ARGUMENT;
                std::byte* there = memory.data();
                expect(bad, start(job, host.data(), there, stream, &request), "memory of the host");
                expect(bad, start(job, there, host.data(), stream, &request),
                       "to the host's memory");
                expect(bad, start(job, pinned.data(), there, stream, &request), "pinned memory");
                expect(bad, start(job, nullptr, there, stream, &request), "no memory");
                expect(bad, start(job, there, there + sizeof(float), stream, &request),
                       "an overlap");
                expect(bad, start(job, there + 1, there + 1, stream, &request), "half a number");
                expect_to_work(job, memory, stream);
            }
            job.finish();
        });
    }};

const Registered kMismatch{
    "mismatch", false, [] {
        for (const auto& shape : std::vector<std::vector<int>>{{2}, {1, 1}}) {
            run_ranks(shape, [](int rank, Board& board) {
                Job job(board, rank, 2, places().front());
                const GpuMemory memory(kCount * sizeof(float));
                const Stream stream;
                batchai_coll_device_request* request =
                    job.start(memory.data(), memory.data(), kCount - static_cast<std::size_t>(rank),
                              BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, nullptr, stream);
                expect(BATCHAI_COLL_ERR_MISMATCH, batchai_coll_device_wait(request),
                       "other counts");
                (void)batchai_coll_device_close(job.device());
                (void)batchai_coll_finalize(job.comm());
            });
        }
    }};

// The last rank dies in the middle of an allreduce; the others say so, and can leave.
void lose_one(int rank, int size, Board& board, Place place) {
    Job job(board, rank, size, place);
    const GpuMemory memory(kCount * sizeof(float));
    const Stream stream;
    cuda(cudaMemset(memory.data(), 0, kCount * sizeof(float)), "clearing");
    cuda(cudaDeviceSynchronize(), "clearing");
    for (int i = 0; i < 5; ++i) expect_to_work(job, memory, stream);
    meet(board, rank, size);
    if (rank == size - 1) {
        batchai_coll_device_request* request =
            job.start(memory.data(), memory.data(), kCount, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM,
                      nullptr, stream);
        for (int i = 0; i < 20; ++i) {
            if (batchai_coll_device_test(request) != BATCHAI_COLL_IN_PROGRESS) break;
        }
        ::raise(SIGKILL);
    }
    batchai_coll_status status = BATCHAI_COLL_OK;
    while (status == BATCHAI_COLL_OK) {
        batchai_coll_device_request* request = nullptr;
        status = start(job, memory.data(), memory.data(), stream, &request);
        if (status == BATCHAI_COLL_OK) status = batchai_coll_device_wait(request);
    }
    expect(BATCHAI_COLL_ERR_PEER, status, "a rank was killed");
    const std::string sentence = batchai_coll_last_error();
    if (sentence.find("rank " + std::to_string(size - 1)) == std::string::npos) {
        throw std::runtime_error("the error does not name the dead rank: " + sentence);
    }
    (void)batchai_coll_device_close(job.device());
    (void)batchai_coll_finalize(job.comm());
}

const Registered kKilled{
    "killed_rank", false, [] {
        for (const Place place : places()) {
            for (const auto& shape : std::vector<std::vector<int>>{{2}, {4}, {1, 1}, {2, 2}}) {
                const int size = std::accumulate(shape.begin(), shape.end(), 0);
                run_ranks_and_lose_one(
                    shape, [&](int rank, Board& board) { lose_one(rank, size, board, place); });
            }
        }
    }};

}  // namespace
