// SPDX-License-Identifier: Apache-2.0
//
// An allreduce between a program's own kernels: what is in its stream before comes before, what is
// put there after the end comes after, and the host never waits for the GPU. On a stream of the
// program's and on the default stream.
#include "job.hpp"
#include "work.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;

namespace {

constexpr std::size_t kCount = 3'000'001;
constexpr long long kLong = 20'000'000;  // multiplications: some tens of milliseconds

// The input is written late, after other work; the result is changed and copied out, all without
// a wait of the host but the last one.
void expect_order(Job& job, cudaStream_t stream) {
    GpuMemory memory(2 * kCount * sizeof(float));
    auto* send = reinterpret_cast<float*>(memory.data());
    float* receive = send + kCount;
    PinnedMemory result(kCount * sizeof(float));
    const auto* got = reinterpret_cast<const float*>(result.data());
    cuda(cudaMemset(memory.data(), 0, 2 * kCount * sizeof(float)), "clearing");
    cuda(cudaDeviceSynchronize(), "clearing");
    for (int step = 1; step <= 4; ++step) {
        const auto own = static_cast<float>(step * 10 + job.rank());
        cuda(burn(kLong, 1, stream), "burning");
        cuda(fill(send, kCount, own, stream), "filling");
        job.allreduce(send, receive, kCount, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, nullptr,
                      stream);
        cuda(add(receive, kCount, 0.5f, stream), "adding");
        cuda(fill(send, kCount, -1, stream), "filling");  // it has been read
        cuda(cudaMemcpyAsync(result.data(), receive, kCount * sizeof(float), cudaMemcpyDeviceToHost,
                             stream),
             "copying");
        cuda(cudaStreamSynchronize(stream), "waiting");
        float sum = 0.5f;
        for (int r = 0; r < job.size(); ++r) sum += static_cast<float>(step * 10 + r);
        for (std::size_t i = 0; i < kCount; ++i) {
            if (got[i] == sum) continue;
            throw std::runtime_error("step " + std::to_string(step) + ": number " +
                                     std::to_string(i) + " is " + std::to_string(got[i]) +
                                     " instead of " + std::to_string(sum));
        }
    }
}

// The second one, of another stream, reads what the first one has made: the program orders them.
void expect_order_of_two(Job& job, cudaStream_t first, cudaStream_t second) {
    GpuMemory memory(kCount * sizeof(float));
    auto* numbers = reinterpret_cast<float*>(memory.data());
    cudaEvent_t between = nullptr;
    cuda(cudaEventCreateWithFlags(&between, cudaEventDisableTiming), "an event");
    cuda(burn(kLong, 1, first), "burning");
    cuda(fill(numbers, kCount, 1, first), "filling");
    job.allreduce(numbers, numbers, kCount, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, nullptr, first);
    cuda(cudaEventRecord(between, first), "recording");
    cuda(cudaStreamWaitEvent(second, between, 0), "waiting");
    job.allreduce(numbers, numbers, kCount, BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, nullptr,
                  second);
    std::vector<float> got(kCount);
    cuda(cudaMemcpyAsync(got.data(), numbers, kCount * sizeof(float), cudaMemcpyDeviceToHost,
                         second),
         "copying");
    cuda(cudaStreamSynchronize(second), "waiting");
    cuda(cudaEventDestroy(between), "an event");
    const auto wanted = static_cast<float>(job.size() * job.size());
    for (const float number : got) {
        if (number != wanted) throw std::runtime_error("a wrong sum of sums");
    }
}

const Registered kOrder{
    "order_in_streams", true, [] {
        for (const auto& shape : std::vector<std::vector<int>>{{2}, {1, 1}, {2, 2}}) {
            if (machine().brief && shape.size() == 2 && shape[0] == 2) continue;
            const int size = std::accumulate(shape.begin(), shape.end(), 0);
            run_ranks(shape, [&](int rank, Board& board) {
                Job job(board, rank, size, places().front());
                {
                    const Stream own, other;
                    expect_order(job, own);
                    expect_order(job, nullptr);
                    expect_order_of_two(job, own, other);
                }
                job.finish();
            });
        }
    }};

}  // namespace
