// SPDX-License-Identifier: Apache-2.0
//
// The operations on GPU memory other than allreduces: every number of all that a rank has on the
// GPU, results, inputs and what is beside them, against numbers that are exact; of one node and of
// two, in place where that is allowed, of nothing and of several chunks; and what is refused.
#include <numeric>

#include "job.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;

namespace {

struct Task {
    Kind kind = Kind::reduce;
    std::size_t count = 0;  // of a block
    int root = 0;
    bool in_place = false;
    bool even = true;  // else blocks are of `count` and less, some of nothing
};

bool exchanges(const Task& task) {
    return task.kind == Kind::alltoall || task.kind == Kind::alltoallv;
}

// Numbers of the block that a rank gives another one; of those that have one for each rank, of it.
std::size_t block(const Task& task, int from, int to) {
    const auto index = static_cast<std::size_t>(exchanges(task) ? from * 5 + to : to);
    if (task.even) return task.count;
    return index % 3 == 1 ? 0 : task.count / (index % 4 + 1);
}

// Of all ranks, what `from` gives.
std::vector<std::size_t> given_by(const Task& task, int from, int ranks) {
    std::vector<std::size_t> counts;
    for (int to = 0; to < ranks; ++to) counts.push_back(block(task, from, to));
    return counts;
}
// Of all ranks, what `to` gets.
std::vector<std::size_t> got_by(const Task& task, int to, int ranks) {
    if (!exchanges(task)) return given_by(task, 0, ranks);
    std::vector<std::size_t> counts;
    for (int from = 0; from < ranks; ++from) counts.push_back(block(task, from, to));
    return counts;
}

// Where a rank's block begins.
std::size_t before(const std::vector<std::size_t>& counts, int rank) {
    return std::accumulate(counts.begin(), counts.begin() + rank, std::size_t{0});
}

// Small whole numbers: sums are exact in every type.
int input(int rank, std::size_t i) {
    return static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101) - 50;
}

int sum(int ranks, std::size_t i) {
    int all = 0;
    for (int r = 0; r < ranks; ++r) all += input(r, i);
    return all;
}

// What a rank gets.
std::vector<int> result(const Task& task, int rank, int ranks) {
    std::vector<int> numbers;
    const auto from = [&](int other, std::size_t begin, std::size_t count) {
        for (std::size_t i = begin; i < begin + count; ++i) numbers.push_back(input(other, i));
    };
    const std::vector<std::size_t> counts = got_by(task, rank, ranks);
    const std::size_t own = before(counts, rank);
    switch (task.kind) {
        case Kind::reduce:
            for (std::size_t i = 0; i < task.count; ++i) numbers.push_back(sum(ranks, i));
            break;
        case Kind::reduce_scatter:
            for (std::size_t i = 0; i < counts[rank]; ++i) numbers.push_back(sum(ranks, own + i));
            break;
        case Kind::broadcast:
            from(task.root, 0, task.count);
            break;
        case Kind::allgather:
            for (int r = 0; r < ranks; ++r) from(r, 0, counts[r]);
            break;
        default:  // alltoall, alltoallv
            for (int r = 0; r < ranks; ++r)
                from(r, before(given_by(task, r, ranks), rank), counts[r]);
            break;
    }
    return numbers;
}

// Starts it with what the rank gives and where it gets, and waits.
template <class Number>
batchai_coll_status run(Job& job, const Task& task, const void* send, void* receive,
                        cudaStream_t stream) {
    const auto type = std::is_same_v<Number, float> ? BATCHAI_COLL_FLOAT32 : BATCHAI_COLL_INT64;
    batchai_coll_device* device = job.device();
    batchai_coll_device_request* request = nullptr;
    const auto given = given_by(task, job.rank(), job.size());
    const auto got = got_by(task, job.rank(), job.size());
    batchai_coll_status status = BATCHAI_COLL_OK;
    switch (task.kind) {
        case Kind::reduce:
            status = batchai_coll_device_reduce_async(device, send, receive, task.count, type,
                                                      BATCHAI_COLL_SUM, nullptr, task.root, stream,
                                                      &request);
            break;
        case Kind::reduce_scatter:
            status = batchai_coll_device_reduce_scatter_async(device, send, receive, given.data(),
                                                              type, BATCHAI_COLL_SUM, nullptr,
                                                              stream, &request);
            break;
        case Kind::broadcast:
            status = batchai_coll_device_broadcast_async(device, receive, task.count, type,
                                                         task.root, stream, &request);
            break;
        case Kind::allgather:
            status = task.even ? batchai_coll_device_allgather_async(
                                     device, send, receive, task.count, type, stream, &request)
                               : batchai_coll_device_allgatherv_async(
                                     device, send, receive, given.data(), type, stream, &request);
            break;
        case Kind::alltoallv:
            status = batchai_coll_device_alltoallv_async(device, send, given.data(), receive,
                                                         got.data(), type, stream, &request);
            break;
        default:  // alltoall
            status = batchai_coll_device_alltoall_async(device, send, receive, task.count, type,
                                                        stream, &request);
            break;
    }
    return status == BATCHAI_COLL_OK ? batchai_coll_device_wait(request) : status;
}

// One allocation: a number that must not change, what is given, another one, what is got, a last
// one. In place, what is given is this rank's part of what is got.
template <class Number>
void expect_exact(Job& job, const Task& task, cudaStream_t stream) {
    const int rank = job.rank();
    const bool gives = task.kind != Kind::broadcast || rank == task.root;
    const bool gets = task.kind != Kind::reduce || rank == task.root;
    const auto counts = given_by(task, rank, job.size());
    std::size_t given = task.count, own = 0;
    if (exchanges(task) || task.kind == Kind::reduce_scatter) given = before(counts, job.size());
    if (task.kind == Kind::allgather) {
        given = counts[rank];
        own = before(counts, rank);
    }
    const std::vector<int> results = result(task, rank, job.size());
    const std::size_t got = results.size();
    const std::size_t receive = given + 2;
    const std::size_t send = task.in_place || task.kind == Kind::broadcast ? receive + own : 1;

    std::vector<Number> first(receive + got + 1, Number{-77});
    for (std::size_t i = 0; i < given && gives; ++i)
        first[send + i] = static_cast<Number>(input(rank, i));
    std::vector<Number> wanted = first, after(first.size());
    for (std::size_t i = 0; i < got && gets; ++i)
        wanted[receive + i] = static_cast<Number>(results[i]);

    const std::size_t bytes = first.size() * sizeof(Number);
    const GpuMemory memory(bytes);
    auto* numbers = reinterpret_cast<Number*>(memory.data());
    cuda(cudaMemcpyAsync(numbers, first.data(), bytes, cudaMemcpyHostToDevice, stream), "copying");
    // Where a rank gets nothing, its buffer need not be there.
    check(run<Number>(job, task, numbers + send, gets ? numbers + receive : nullptr, stream));
    cuda(cudaMemcpyAsync(after.data(), numbers, bytes, cudaMemcpyDeviceToHost, stream), "copying");
    cuda(cudaStreamSynchronize(stream), "copying");
    if (after == wanted) return;
    const auto wrong = std::mismatch(after.begin(), after.end(), wanted.begin());
    throw std::runtime_error(
        "operation " + std::to_string(static_cast<int>(task.kind)) + ", blocks of " +
        std::to_string(task.count) + (task.even ? "" : " and less") +
        (task.in_place ? " in place" : "") + ", root " + std::to_string(task.root) + ": number " +
        std::to_string(wrong.first - after.begin()) + " is " + std::to_string(*wrong.first) +
        " instead of " + std::to_string(*wrong.second));
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
                                                  {Kind::alltoall, count, 0, false},
                                                  {Kind::reduce_scatter, count, 0, false, false},
                                                  {Kind::allgather, count, 0, false, false},
                                                  {Kind::allgather, count, 0, true, false},
                                                  {Kind::alltoallv, count, 0, false, false}}) {
            expect_exact<std::int64_t>(job, task, stream);
            expect_exact<float>(job, task, stream);
        }
    }
}

// Counts that are none, or wrong.
void try_bad_counts(Job& job, cudaStream_t stream) {
    const auto size = static_cast<std::size_t>(job.size());
    const GpuMemory memory(4 * size * sizeof(float));
    auto* there = reinterpret_cast<float*>(memory.data());
    float* apart = there + 2 * size;
    batchai_coll_device_request* request = nullptr;
    const auto refused = [&](batchai_coll_status status, const std::string& what) {
        expect(BATCHAI_COLL_ERR_ARGUMENT, status, what);
    };
    const auto gathered = [&](const std::size_t* counts) {
        return batchai_coll_device_allgatherv_async(job.device(), there, apart, counts,
                                                    BATCHAI_COLL_FLOAT32, stream, &request);
    };
    const auto exchanged = [&](const std::size_t* out, const std::size_t* in) {
        return batchai_coll_device_alltoallv_async(job.device(), there, out, apart, in,
                                                   BATCHAI_COLL_FLOAT32, stream, &request);
    };
    const std::vector<std::size_t> huge(size, SIZE_MAX / 4), counts(size, 1);
    auto more = counts;
    ++more[static_cast<std::size_t>(job.rank())];
    refused(gathered(huge.data()), "counts that are too large");
    refused(exchanged(counts.data(), more.data()), "another count to itself");
    refused(gathered(nullptr), "no counts to gather");
    refused(exchanged(nullptr, counts.data()), "no counts to send");
    refused(exchanged(counts.data(), nullptr), "no counts to receive");
    refused(batchai_coll_device_reduce_scatter_async(job.device(), there, apart, nullptr,
                                                     BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM,
                                                     nullptr, stream, &request),
            "no counts to scatter");
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
    for (const Kind kind : {Kind::reduce, Kind::reduce_scatter, Kind::broadcast, Kind::allgather,
                            Kind::alltoall, Kind::alltoallv}) {
        const Task task{kind, kCount, job.rank()};
        refused(task, there, host.data(), "to the host's memory");
        refused(task, there, nullptr, "to no memory");
        if (kind == Kind::broadcast) continue;
        refused(task, host.data(), there, "memory of the host");
        refused(task, nullptr, there, "no memory");
        refused(task, there + kCount / 2, there, "an overlap");
    }
    for (const Kind kind : {Kind::reduce_scatter, Kind::alltoall, Kind::alltoallv})
        refused({kind, kCount}, there, there, "in place");
    const int other = (job.rank() + 1) % job.size();
    refused({Kind::allgather, kCount}, there + static_cast<std::size_t>(other) * kCount, there,
            "another rank's place");
    try_bad_counts(job, stream);
    expect_exact<float>(job, {Kind::alltoall, kCount}, stream);
}

const std::vector<std::vector<int>> kShapes = {{2}, {1, 1}, {2, 2}};

const Registered kOthers{"other_operations", true, [] { for_all(kShapes, try_everything); }};
const Registered kRefused{"other_bad_arguments", true, [] { for_all({{2}}, try_bad_arguments); }};

}  // namespace
