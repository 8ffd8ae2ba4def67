// SPDX-License-Identifier: Apache-2.0
//
// The bounds of all else: what copies between pinned memory and the GPU carry, each direction alone
// and both at once, and what a copy on the GPU reads and writes.
#include "../harness.hpp"
#include "clock.hpp"
#include "parts.hpp"

namespace batchai::coll::gpu {
namespace {

const std::string kIn = "to the GPU, pinned", kOut = "from the GPU, pinned";
const std::string kBothIn = "both at once: to the GPU", kBothOut = "both at once: from the GPU";
const std::string kOnGpu = "copy on the GPU, read and written";

// Seconds that each stream has been busy, of events that were recorded in it.
class Timer {
  public:
    explicit Timer(cudaStream_t stream) : stream_(stream) {
        cuda(cudaEventCreate(&begin_), "an event");
        cuda(cudaEventCreate(&end_), "an event");
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() {
        (void)cudaEventDestroy(begin_);
        (void)cudaEventDestroy(end_);
    }
    void begin() const { cuda(cudaEventRecord(begin_, stream_), "recording"); }
    void end() const { cuda(cudaEventRecord(end_, stream_), "recording"); }
    double seconds() const {
        cuda(cudaEventSynchronize(end_), "waiting");
        float milliseconds = 0;
        cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "a time");
        return static_cast<double>(milliseconds) / 1000;
    }

  private:
    cudaStream_t stream_;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

constexpr int kCopies = 8;  // a measurement

double gigabytes(std::size_t bytes, double seconds) {
    return static_cast<double>(bytes) / seconds / 1e9;
}

void copy_all(std::byte* to, const std::byte* from, cudaStream_t stream) {
    cuda(cudaMemcpyAsync(to, from, large(), cudaMemcpyDefault, stream), "copying");
}

// GB/s of copies one after another, the median of some.
double alone(std::byte* to, const std::byte* from) {
    const Stream stream;
    const Timer timer(stream);
    std::vector<double> rates;
    for (int round = 0; round < calls_of(large()); ++round) {
        timer.begin();
        for (int i = 0; i < kCopies; ++i) copy_all(to, from, stream);
        timer.end();
        rates.push_back(gigabytes(large() * kCopies, timer.seconds()));
    }
    return median(rates);
}

// Both directions, each of which begins before and ends after the part that counts.
void both(Figures& figures, const GpuMemory& memory, const PinnedMemory& host) {
    const Stream in, out;
    const Timer in_timer(in), out_timer(out);
    std::vector<double> in_rates, out_rates;
    const auto in_one = [&] { copy_all(memory.data(), host.data(), in); };
    const auto out_one = [&] { copy_all(host.data() + large(), memory.data() + large(), out); };
    for (int round = 0; round < calls_of(large()); ++round) {
        in_one();
        out_one();
        in_timer.begin();
        out_timer.begin();
        for (int i = 0; i < kCopies; ++i) {
            in_one();
            out_one();
        }
        in_timer.end();
        out_timer.end();
        for (int i = 0; i < 3; ++i) {
            in_one();
            out_one();
        }
        in_rates.push_back(gigabytes(large() * kCopies, in_timer.seconds()));
        out_rates.push_back(gigabytes(large() * kCopies, out_timer.seconds()));
        in.wait();
        out.wait();
    }
    figures.set(kBothIn, large(), median(in_rates));
    figures.set(kBothOut, large(), median(out_rates));
}

}  // namespace

std::vector<Row> machine_rows() {
    return {{kIn, large(), "GB/s"},
            {kOut, large(), "GB/s"},
            {kBothIn, large(), "GB/s"},
            {kBothOut, large(), "GB/s"},
            {kOnGpu, large(), "GB/s"}};
}

double staging_rate(const Figures& figures) {
    return std::min(figures.get(kBothIn, large()), figures.get(kBothOut, large())) * 1e9;
}

void measure_machine(Figures& figures) {
    run_ranks({1}, [&](int, Board&) {
        const GpuMemory memory(2 * large());
        const PinnedMemory host(2 * large());
        (void)alone(memory.data(), host.data());  // clocks rise
        figures.set(kIn, large(), alone(memory.data(), host.data()));
        figures.set(kOut, large(), alone(host.data(), memory.data()));
        both(figures, memory, host);
        figures.set(kOnGpu, large(), 2 * alone(memory.data(), memory.data() + large()));
    });
}

}  // namespace batchai::coll::gpu
