// SPDX-License-Identifier: Apache-2.0
//
// Allreduces that are captured into a graph, among a program's own kernels, and done whenever that
// is launched: of one rank, or where NCCL connects all ranks. Elsewhere they are refused, and so is
// what only some ranks capture.
#include <csignal>

#include "job.hpp"
#include "work.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;

namespace {

constexpr std::size_t kCount = 1'000'003;
constexpr int kLaunches = 3;

// What a program has captured. To be destroyed before the device is closed.
class Graph {
  public:
    template <class Body>
    Graph(cudaStream_t stream, Body body) {
        cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capturing");
        body();
        cudaGraph_t graph = nullptr;
        cuda(cudaStreamEndCapture(stream, &graph), "capturing");
        cuda(cudaGraphGetNodes(graph, nullptr, &nodes_), "a graph");
        cuda(cudaGraphInstantiate(&graph_, graph, 0), "a graph");
        cuda(cudaGraphDestroy(graph), "a graph");
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph() { (void)cudaGraphExecDestroy(graph_); }

    std::size_t nodes() const { return nodes_; }
    void launch(cudaStream_t stream) const { cuda(cudaGraphLaunch(graph_, stream), "a launch"); }

  private:
    cudaGraphExec_t graph_ = nullptr;
    std::size_t nodes_ = 0;
};

bool can_capture(const Job& job) {
    return job.size() == 1 ||
           std::string(batchai_coll_device_plan(job.device())).find("NCCL over all ranks") !=
               std::string::npos;
}

batchai_coll_status reduce(batchai_coll_device* device, const float* send, float* receive,
                           batchai_coll_op op, const batchai_coll_scaling* scaling,
                           cudaStream_t stream) {
    batchai_coll_device_request* request = nullptr;
    const auto status = batchai_coll_device_allreduce_async(
        device, send, receive, kCount, BATCHAI_COLL_FLOAT32, op, scaling, stream, &request);
    return status == BATCHAI_COLL_OK ? batchai_coll_device_wait(request) : status;
}

batchai_coll_status reduce(const Job& job, const float* send, float* receive, batchai_coll_op op,
                           const batchai_coll_scaling* scaling, cudaStream_t stream) {
    return reduce(job.device(), send, receive, op, scaling, stream);
}

void expect_all(const float* memory, float wanted, cudaStream_t stream, const std::string& what) {
    std::vector<float> got(kCount);
    cuda(
        cudaMemcpyAsync(got.data(), memory, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream),
        "copying");
    cuda(cudaStreamSynchronize(stream), "waiting");
    for (const float number : got) {
        if (number == wanted) continue;
        throw std::runtime_error(what + ": " + std::to_string(number) + " instead of " +
                                 std::to_string(wanted));
    }
}

// Each launch sums what is there by then, changes it, and averages that in place; between launches
// the ranks reduce without a graph.
void launch_graphs(Job& job, cudaStream_t stream) {
    const GpuMemory memory(2 * kCount * sizeof(float));
    auto* send = reinterpret_cast<float*>(memory.data());
    float* receive = send + kCount;
    const batchai_coll_scaling scaling{0.5, 3};
    cuda(add(receive, kCount, 0, stream), "adding");  // a kernel's first launch loads it
    const Graph graph(stream, [&] {
        check(reduce(job, send, receive, BATCHAI_COLL_SUM, nullptr, stream));
        cuda(add(receive, kCount, 1, stream), "adding");
        check(reduce(job, receive, receive, BATCHAI_COLL_AVERAGE, &scaling, stream));
    });
    for (int launch = 0; launch < kLaunches; ++launch) {
        float sum = 1;
        for (int r = 0; r < job.size(); ++r) sum += static_cast<float>(10 * launch + r);
        cuda(fill(send, kCount, static_cast<float>(10 * launch + job.rank()), stream), "filling");
        graph.launch(stream);
        expect_all(receive, sum * 1.5f, stream, "a launch");
        cuda(fill(receive, kCount, 2, stream), "filling");
        check(reduce(job, receive, receive, BATCHAI_COLL_SUM, nullptr, stream));
        expect_all(receive, static_cast<float>(2 * job.size()), stream, "between launches");
    }
}

void expect_refusal(Job& job, cudaStream_t stream, const std::string& what,
                    const std::function<batchai_coll_status()>& call) {
    const Graph graph(stream, [&] { expect(BATCHAI_COLL_ERR_ARGUMENT, call(), what); });
    const GpuMemory memory(kCount * sizeof(float));
    auto* numbers = reinterpret_cast<float*>(memory.data());
    cuda(fill(numbers, kCount, 1, stream), "filling");
    check(reduce(job, numbers, numbers, BATCHAI_COLL_SUM, nullptr, stream));
    expect_all(numbers, static_cast<float>(job.size()), stream, "after " + what);
}

const Registered kGraphs{
    "graphs", true, [] {
        for_all({{1}, {2}, {1, 1}, {2, 1}}, [](Job& job, cudaStream_t stream) {
            const GpuMemory memory(kCount * sizeof(float));
            auto* numbers = reinterpret_cast<float*>(memory.data());
            if (can_capture(job)) {
                launch_graphs(job, stream);
            } else {
                expect_refusal(job, stream, "an allreduce without NCCL", [&] {
                    return reduce(job, numbers, numbers, BATCHAI_COLL_SUM, nullptr, stream);
                });
            }
            expect_refusal(job, stream, "a broadcast", [&] {
                batchai_coll_device_request* request = nullptr;
                return batchai_coll_device_broadcast_async(
                    job.device(), numbers, kCount, BATCHAI_COLL_FLOAT32, 0, stream, &request);
            });
        });
    }};

// Of ranks that have a GPU each.
void run_two_on_own_gpus(const std::function<void(Job& job, cudaStream_t stream)>& body) {
    for (const auto& shape : std::vector<std::vector<int>>{{2}, {1, 1}}) {
        run_ranks(shape, [&](int rank, Board& board) {
            if (places().front() != Place::own) throw Skipped("it takes two GPUs");
            Job job(board, rank, 2, Place::own);
            if (!can_capture(job)) throw Skipped("there is no NCCL");
            const Stream stream;
            body(job, stream);
        });
    }
}

// Only the first rank captures, while there is another graph of both: the failure does not wait for
// its end, in which NCCL has a part.
const Registered kSome{
    "graph_mismatch", false, [] {
        run_two_on_own_gpus([](Job& job, cudaStream_t stream) {
            const GpuMemory memory(kCount * sizeof(float));
            auto* numbers = reinterpret_cast<float*>(memory.data());
            const Graph good(stream, [&] {
                check(reduce(job, numbers, numbers, BATCHAI_COLL_SUM, nullptr, stream));
            });
            const auto call = [&] {
                expect(BATCHAI_COLL_ERR_MISMATCH,
                       reduce(job, numbers, numbers, BATCHAI_COLL_SUM, nullptr, stream),
                       "a graph of one rank");
            };
            if (job.rank() == 0) {
                const Graph graph(stream, call);
                if (graph.nodes() > 0) throw std::runtime_error("the graph has something of it");
            } else {
                call();
            }
            (void)batchai_coll_device_close(job.device());
            (void)batchai_coll_finalize(job.comm());
        });
    }};

// The last rank dies while there is a graph: the others say so, and can leave before its end.
void leave_a_graph(int rank, Board& board) {
    Job job(board, rank, 2, Place::own);
    if (!can_capture(job)) throw Skipped("there is no NCCL");
    const Stream stream;
    const GpuMemory memory(kCount * sizeof(float));
    auto* numbers = reinterpret_cast<float*>(memory.data());
    const auto sum = [&] {
        return reduce(job, numbers, numbers, BATCHAI_COLL_SUM, nullptr, stream);
    };
    const Graph graph(stream, [&] { check(sum()); });
    meet(board, rank, 2);
    if (rank == 1) ::raise(SIGKILL);
    batchai_coll_status status = BATCHAI_COLL_OK;
    while (status == BATCHAI_COLL_OK) status = sum();
    expect(BATCHAI_COLL_ERR_PEER, status, "a rank was killed");
    (void)batchai_coll_device_close(job.device());
    (void)batchai_coll_finalize(job.comm());
}

const Registered kLeft{"graph_left", false, [] {
                           if (places().front() != Place::own) throw Skipped("it takes two GPUs");
                           run_ranks_and_lose_one({2}, leave_a_graph);
                       }};

// The last rank dies while the first one's GPU waits for it in two NCCL communicators: neither's
// end waits for the other's, nor for those that have nothing under way.
void leave_two_launches(int rank, Board& board) {
    Job job(board, rank, 2, Place::own);
    if (!can_capture(job)) throw Skipped("there is no NCCL");
    batchai_coll_device* second = nullptr;
    check(batchai_coll_device_open(job.comm(), job.gpu(), &second));
    const Stream stream, stream_of_second;
    const GpuMemory memory(kCount * sizeof(float)), memory_of_second(kCount * sizeof(float));
    auto* numbers = reinterpret_cast<float*>(memory.data());
    const auto sum = [&] {
        return reduce(job, numbers, numbers, BATCHAI_COLL_SUM, nullptr, stream);
    };
    {
        const Graph graph(stream, [&] { check(sum()); });
        const Graph graph_of_second(stream_of_second, [&] {
            auto* its = reinterpret_cast<float*>(memory_of_second.data());
            check(reduce(second, its, its, BATCHAI_COLL_SUM, nullptr, stream_of_second));
        });
        meet(board, rank, 2);
        if (rank == 1) ::raise(SIGKILL);
        graph.launch(stream);
        graph_of_second.launch(stream_of_second);
    }
    batchai_coll_status status = BATCHAI_COLL_OK;
    while (status == BATCHAI_COLL_OK) status = sum();
    expect(BATCHAI_COLL_ERR_PEER, status, "a rank was killed");
    (void)batchai_coll_device_close(job.device());
    (void)batchai_coll_device_close(second);
    cuda(cudaStreamSynchronize(stream), "the end of a launch");
    cuda(cudaStreamSynchronize(stream_of_second), "the end of a launch");
    (void)batchai_coll_finalize(job.comm());
}

const Registered kLaunched{
    "graph_launched", false, [] {
        if (places().front() != Place::own) {
            throw Skipped("it takes two GPUs");
        }
        for (const auto& shape : std::vector<std::vector<int>>{{2}, {1, 1}}) {
            run_ranks_and_lose_one(shape, leave_two_launches);
        }
    }};

// Nothing has failed, but a rank leaves without closing, as a program does that ends with an
// exception, while its GPU waits for the other one's.
const Registered kUnclosed{
    "graph_unclosed", false, [] {
        run_ranks({2}, [](int rank, Board& board) {
            if (places().front() != Place::own) throw Skipped("it takes two GPUs");
            Job job(board, rank, 2, Place::own);
            if (!can_capture(job)) throw Skipped("there is no NCCL");
            const Stream stream;
            const GpuMemory memory(kCount * sizeof(float));
            auto* numbers = reinterpret_cast<float*>(memory.data());
            {
                const Graph graph(stream, [&] {
                    check(reduce(job, numbers, numbers, BATCHAI_COLL_SUM, nullptr, stream));
                });
                if (rank == 0) graph.launch(stream);
            }
            if (rank == 0) delete job.device();
            cuda(cudaStreamSynchronize(stream), "the end of a launch");
            meet(board, rank, 2);
            if (rank == 1) delete job.device();
            check(batchai_coll_finalize(job.comm()));
        });
    }};

const Registered kOpen{
    "graph_at_the_end", false, [] {
        run_two_on_own_gpus([](Job& job, cudaStream_t stream) {
            const GpuMemory memory(kCount * sizeof(float));
            auto* numbers = reinterpret_cast<float*>(memory.data());
            {
                const Graph graph(stream, [&] {
                    check(reduce(job, numbers, numbers, BATCHAI_COLL_SUM, nullptr, stream));
                });
                expect(BATCHAI_COLL_ERR_ARGUMENT, batchai_coll_device_close(job.device()),
                       "closing with a graph");
                cuda(fill(numbers, kCount, 1, stream), "filling");
                graph.launch(stream);
                expect_all(numbers, 2, stream, "a launch after that");
            }
            job.finish();
        });
    }};

}  // namespace
