// SPDX-License-Identifier: Apache-2.0
//
// The operations on GPU memory other than allreduces: every number of all that a rank has on the
// GPU, results, inputs and what is beside them, against numbers that are exact; of one node and of
// two, in place where that is allowed, of nothing and of several chunks; and what is refused.
#include "job.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;

namespace {

struct Task {
    Kind kind = Kind::reduce;
    std::size_t count = 0;  // of a block
    int root = 0;
    bool in_place = false;
};

// Small whole numbers: sums are exact in every type.
int input(int rank, std::size_t i) {
    return static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101) - 50;
}

int sum(int ranks, std::size_t i) {
    int all = 0;
    for (int r = 0; r < ranks; ++r) all += input(r, i);
    return all;
}

// Number i of what a rank gets.
int result(const Task& task, int rank, int ranks, std::size_t i) {
    const std::size_t own = static_cast<std::size_t>(rank) * task.count;
    switch (task.kind) {
        case Kind::reduce:
            return sum(ranks, i);
        case Kind::reduce_scatter:
            return sum(ranks, own + i);
        case Kind::broadcast:
            return input(task.root, i);
        case Kind::allgather:
            return input(static_cast<int>(i / task.count), i % task.count);
        default:  // alltoall
            return input(static_cast<int>(i / task.count), own + i % task.count);
    }
}

// Starts it with what the rank gives and where it gets, and waits.
template <class Number>
batchai_coll_status run(Job& job, const Task& task, const void* send, void* receive,
                        cudaStream_t stream) {
    const auto type = std::is_same_v<Number, float> ? BATCHAI_COLL_FLOAT32 : BATCHAI_COLL_INT64;
    batchai_coll_device* device = job.device();
    batchai_coll_device_request* request = nullptr;
    batchai_coll_status status = BATCHAI_COLL_OK;
    switch (task.kind) {
        case Kind::reduce:
            status = batchai_coll_device_reduce_async(device, send, receive, task.count, type,
                                                      BATCHAI_COLL_SUM, nullptr, task.root, stream,
                                                      &request);
            break;
        case Kind::reduce_scatter:
            status = batchai_coll_device_reduce_scatter_async(device, send, receive, task.count,
                                                              type, BATCHAI_COLL_SUM, nullptr,
                                                              stream, &request);
            break;
        case Kind::broadcast:
            status = batchai_coll_device_broadcast_async(device, receive, task.count, type,
                                                         task.root, stream, &request);
            break;
        case Kind::allgather:
            status = batchai_coll_device_allgather_async(device, send, receive, task.count, type,
                                                         stream, &request);
            break;
        default:  // alltoall
            status = batchai_coll_device_alltoall_async(device, send, receive, task.count, type,
                                                        stream, &request);
            break;
    }
    return status == BATCHAI_COLL_OK ? batchai_coll_device_wait(request) : status;
}

// One allocation: a number that nobody touches, what is given, another one, what is got, a last
// one. In place, what is given is this rank's part of what is got.
template <class Number>
void expect_exact(Job& job, const Task& task, cudaStream_t stream) {
    const auto ranks = static_cast<std::size_t>(job.size());
    const bool is_root = job.rank() == task.root;
    const bool gives_all = task.kind == Kind::reduce_scatter || task.kind == Kind::alltoall;
    const bool gets_all = task.kind == Kind::allgather || task.kind == Kind::alltoall;
    const bool gives = task.kind != Kind::broadcast || is_root;
    const bool gets = task.kind != Kind::reduce || is_root;
    const std::size_t given = task.count * (gives_all ? ranks : 1);
    const std::size_t got = task.count * (gets_all ? ranks : 1);
    const std::size_t own = gets_all ? static_cast<std::size_t>(job.rank()) * task.count : 0;
    const std::size_t receive = given + 2;
    const std::size_t send = task.in_place || task.kind == Kind::broadcast ? receive + own : 1;

    std::vector<Number> before(receive + got + 1, Number{-77});
    for (std::size_t i = 0; i < given && gives; ++i)
        before[send + i] = static_cast<Number>(input(job.rank(), i));
    std::vector<Number> wanted = before, after(before.size());
    for (std::size_t i = 0; i < got && gets; ++i)
        wanted[receive + i] = static_cast<Number>(result(task, job.rank(), job.size(), i));

    const std::size_t bytes = before.size() * sizeof(Number);
    const GpuMemory memory(bytes);
    auto* numbers = reinterpret_cast<Number*>(memory.data());
    cuda(cudaMemcpyAsync(numbers, before.data(), bytes, cudaMemcpyHostToDevice, stream), "copying");
    // Where a rank gets nothing, its buffer need not be there.
    check(run<Number>(job, task, numbers + send, gets ? numbers + receive : nullptr, stream));
    cuda(cudaMemcpyAsync(after.data(), numbers, bytes, cudaMemcpyDeviceToHost, stream), "copying");
    cuda(cudaStreamSynchronize(stream), "copying");
    if (after == wanted) return;
    const auto wrong = std::mismatch(after.begin(), after.end(), wanted.begin());
    throw std::runtime_error(
        "operation " + std::to_string(static_cast<int>(task.kind)) + ", blocks of " +
        std::to_string(task.count) + (task.in_place ? " in place" : "") + ", root " +
        std::to_string(task.root) + ": number " + std::to_string(wrong.first - after.begin()) +
        " is " + std::to_string(*wrong.first) + " instead of " + std::to_string(*wrong.second));
}

// Blocks of nothing, of less and of more than a chunk.
void try_everything(Job& job, cudaStream_t stream) {
    std::vector<std::size_t> counts{0, 1, 1001};
    if (!machine().brief) counts.push_back(1'200'001);
    for (const std::size_t count : counts) {
        for (const Task& task : std::vector<Task>{{Kind::reduce, count, job.size() - 1, false},
                                                  {Kind::reduce, count, 1, true},
                                                  {Kind::reduce_scatter, count, 0, false},
                                                  {Kind::broadcast, count, 1, false},
                                                  {Kind::broadcast, count, 0, false},
                                                  {Kind::allgather, count, 0, false},
                                                  {Kind::allgather, count, 0, true},
                                                  {Kind::alltoall, count, 0, false}}) {
            expect_exact<std::int64_t>(job, task, stream);
            expect_exact<float>(job, task, stream);
        }
    }
}

// All ranks are refused alike, and what they call next works.
void try_bad_arguments(Job& job, cudaStream_t stream) {
    constexpr std::size_t kCount = 1001;
    const GpuMemory memory(8 * kCount * sizeof(float));
    std::vector<float> host(4 * kCount);
    auto* there = reinterpret_cast<float*>(memory.data());
    float* apart = there + 4 * kCount;
    const auto refused = [&](const Task& task, const float* send, float* receive,
                             const std::string& what) {
        expect(BATCHAI_COLL_ERR_ARGUMENT, run<float>(job, task, send, receive, stream),
               "operation " + std::to_string(static_cast<int>(task.kind)) + ", " + what);
    };
    for (const Kind kind : {Kind::reduce, Kind::broadcast}) {
        refused({kind, kCount, -1}, there, apart, "no root");
        refused({kind, kCount, job.size()}, there, apart, "a root too many");
    }
    for (const Kind kind :
         {Kind::reduce, Kind::reduce_scatter, Kind::broadcast, Kind::allgather, Kind::alltoall}) {
        const Task task{kind, kCount, job.rank()};
        refused(task, there, host.data(), "to the host's memory");
        refused(task, there, nullptr, "to no memory");
        if (kind == Kind::broadcast) continue;
        refused(task, host.data(), there, "memory of the host");
        refused(task, nullptr, there, "no memory");
        refused(task, there + kCount / 2, there, "an overlap");
    }
    for (const Kind kind : {Kind::reduce_scatter, Kind::alltoall})
        refused({kind, kCount}, there, there, "in place");
    const int other = (job.rank() + 1) % job.size();
    refused({Kind::allgather, kCount}, there + static_cast<std::size_t>(other) * kCount, there,
            "another rank's place");
    expect_exact<float>(job, {Kind::alltoall, kCount}, stream);
}

const std::vector<std::vector<int>> kShapes = {{2}, {1, 1}, {2, 2}};

const Registered kOthers{"other_operations", true, [] { for_all(kShapes, try_everything); }};
const Registered kRefused{"other_bad_arguments", true, [] { for_all({{2}}, try_bad_arguments); }};

}  // namespace
