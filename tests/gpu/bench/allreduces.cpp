// SPDX-License-Identifier: Apache-2.0
//
// Allreduces without a queue, of float32 sums in place, on one GPU, of two virtual nodes of one
// rank and of one node of two ranks. A call is timed from its start until its result is in memory,
// on the slowest rank.
//
// Bound of two nodes: the slowest stage and the pipeline's fill. Each of the two ranks takes S
// bytes out and S in. Both share the GPU's link, so a stage is 2 S / the rate of the slower
// direction while both are busy. The wire is an allreduce of S bytes in pinned memory by the same
// ranks. The fill is what a chunk (of at most 4 MiB, of at least eight) takes in the other stages.
//
// The serial scheme, as frameworks have it: a blocking copy to pageable memory, a blocking exchange
// of all of it, and a blocking copy back; its memory is kept from call to call.
#include <algorithm>
#include <cstdio>

#include "../job.hpp"
#include "../work.hpp"
#include "clock.hpp"
#include "parts.hpp"

namespace batchai::coll::gpu {
namespace {

const std::string kTwoNodes = "2 nodes of 1 rank: allreduce";
const std::string kWire = "2 nodes of 1 rank: the wire alone";
const std::string kSerial = "2 nodes of 1 rank: serial scheme";
const std::string kAhead = "2 nodes of 1 rank: ahead of the serial scheme";
const std::string kOneNode = "1 node of 2 ranks: allreduce";
const std::string kWork = "2 nodes of 1 rank: a kernel's work alone";
const std::string kTogether = "2 nodes of 1 rank: allreduce and the kernel";
const std::string kHidden = "2 nodes of 1 rank: hidden behind the kernel";
constexpr std::size_t kOverlapped = 64 * kMiB;

class Bench {
  public:
    Bench(Job& job, Figures& figures) : job_(job), figures_(figures), memory_(sizes().back()) {
        cuda(cudaMemset(memory_.data(), 0, sizes().back()), "clearing");
        cuda(cudaDeviceSynchronize(), "clearing");
    }

    // Milliseconds of a call on the slowest rank, the median.
    template <class Call>
    double milliseconds(std::size_t bytes, Call call) {
        for (int i = 0; i < idle_calls(); ++i) call();
        std::vector<double> times;
        for (int i = 0; i < calls_of(bytes); ++i) {
            check(batchai_coll_barrier(job_.comm()));
            const double begin = now();
            call();
            double took = now() - begin;
            check(batchai_coll_allreduce(job_.comm(), &took, &took, 1, BATCHAI_COLL_FLOAT64,
                                         BATCHAI_COLL_MAX, nullptr));
            times.push_back(took * 1000);
        }
        return median(std::move(times));
    }

    double allreduce(std::size_t bytes) {
        return milliseconds(bytes, [&] {
            order(bytes);
            stream_.wait();
        });
    }
    double wire(std::size_t bytes) {
        const PinnedMemory host(bytes);
        std::fill_n(host.data(), bytes, std::byte{0});
        return milliseconds(bytes, [&] { exchange(host.data(), bytes); });
    }
    double serial(std::size_t bytes) {
        std::vector<std::byte> host(bytes);
        return milliseconds(bytes, [&] {
            cuda(cudaMemcpy(host.data(), memory_.data(), bytes, cudaMemcpyDeviceToHost), "copying");
            exchange(host.data(), bytes);
            cuda(cudaMemcpy(memory_.data(), host.data(), bytes, cudaMemcpyHostToDevice), "copying");
            cuda(cudaDeviceSynchronize(), "copying");
        });
    }

    // Beside a kernel that takes about as long, with a block on each multiprocessor.
    void overlap(double alone) {
        int blocks = 0;
        cuda(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, job_.gpu()),
             "asking the GPU");
        const Stream other;
        const auto work = [&](long long amount) { cuda(burn(amount, blocks, other), "burning"); };
        constexpr long long kTrial = 1'000'000;
        const double trial = milliseconds(kOverlapped, [&] {
            work(kTrial);
            other.wait();
        });
        // The same on all ranks: `alone` and `trial` are.
        const auto amount = static_cast<long long>(kTrial * alone / trial);
        const double working = milliseconds(kOverlapped, [&] {
            work(amount);
            other.wait();
        });
        const double both = milliseconds(kOverlapped, [&] {
            work(amount);
            order(kOverlapped);
            stream_.wait();
            other.wait();
        });
        if (job_.rank() != 0) return;
        figures_.set(kWork, kOverlapped, working);
        figures_.set(kTogether, kOverlapped, both, std::max(alone, working));
        figures_.set(kHidden, kOverlapped,
                     100 * (alone + working - both) / std::min(alone, working));
    }

  private:
    void order(std::size_t bytes) {
        job_.allreduce(memory_.data(), memory_.data(), bytes / sizeof(float), BATCHAI_COLL_FLOAT32,
                       BATCHAI_COLL_SUM, nullptr, stream_);
    }
    void exchange(std::byte* host, std::size_t bytes) {
        check(batchai_coll_allreduce(job_.comm(), host, host, bytes / sizeof(float),
                                     BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, nullptr));
    }

    Job& job_;
    Figures& figures_;
    GpuMemory memory_;
    Stream stream_;
};

// Milliseconds.
double bound(double pcie, double wire, std::size_t bytes) {
    const double slowest = std::max(pcie, wire);
    const std::size_t chunks = std::max<std::size_t>(8, bytes / (4 * kMiB));
    const double others = 2 * pcie + wire - slowest;  // out, wire and in
    return slowest + others / static_cast<double>(chunks);
}

void measure_two_nodes(Job& job, Figures& figures, double rate) {
    Bench bench(job, figures);
    double overlapped = 0;
    for (const std::size_t bytes : sizes()) {
        const double wire = bench.wire(bytes), whole = bench.allreduce(bytes);
        const double serial = bench.serial(bytes);
        if (bytes == kOverlapped) overlapped = whole;
        if (job.rank() != 0) continue;
        const double pcie = 2 * static_cast<double>(bytes) / rate * 1000;
        figures.set(kWire, bytes, wire);
        figures.set(kTwoNodes, bytes, whole, bound(pcie, wire, bytes));
        figures.set(kSerial, bytes, serial);
        figures.set(kAhead, bytes, serial / whole);
    }
    bench.overlap(overlapped);
}

void run_job(const std::vector<int>& shape, const std::function<void(Job& job)>& body) {
    run_ranks(shape, [&](int rank, Board& board) {
        Job job(board, rank, 2, Place::shared);
        if (rank == 0) std::printf("%s\n", job.plan().c_str());
        std::fflush(stdout);  // it ends without
        body(job);
        job.finish();
    });
}

}  // namespace

std::vector<Row> allreduce_rows() {
    std::vector<Row> rows;
    for (const std::size_t bytes : sizes()) rows.push_back({kWire, bytes, "ms"});
    for (const std::size_t bytes : sizes()) {
        // 1 / 1.15
        rows.push_back({kTwoNodes, bytes, "ms", bytes >= 64 * kMiB ? 0.87 : 0,
                        "the slowest stage and the fill"});
    }
    for (const std::size_t bytes : sizes()) rows.push_back({kSerial, bytes, "ms"});
    for (const std::size_t bytes : sizes()) rows.push_back({kAhead, bytes, "x"});
    rows.push_back({kWork, kOverlapped, "ms"});
    rows.push_back({kTogether, kOverlapped, "ms", 0, "the longer one of both"});
    rows.push_back({kHidden, kOverlapped, "%"});
    for (const std::size_t bytes : sizes()) rows.push_back({kOneNode, bytes, "ms"});
    return rows;
}

void measure_allreduces(Figures& figures) {
    const double rate = staging_rate(figures);
    run_job({1, 1}, [&](Job& job) { measure_two_nodes(job, figures, rate); });
    run_job({2}, [&](Job& job) {
        Bench bench(job, figures);
        for (const std::size_t bytes : sizes()) {
            const double took = bench.allreduce(bytes);
            if (job.rank() == 0) figures.set(kOneNode, bytes, took);
        }
    });
}

}  // namespace batchai::coll::gpu
