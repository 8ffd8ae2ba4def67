// SPDX-License-Identifier: Apache-2.0
//
// Streams, events, copies and launches. A stream can be captured, and does nothing then.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "emulation.hpp"
#include "worker.hpp"

using Clock = std::chrono::steady_clock;

struct CUevent_st {
    std::mutex lock;
    std::condition_variable changed;
    std::uint64_t recorded = 0, done = 0;
    Clock::time_point at;
};

struct CUgraph_st {};

struct CUstream_st : emulation::Worker {
    std::mutex lock;
    cudaGraph_t graph = nullptr;  // into which it is captured
};

namespace {

// Never destroyed: threads that a failed rank leaves behind may use them to the end.
struct All {
    std::mutex lock;
    std::map<cudaStream_t, std::shared_ptr<CUstream_st>> streams;
    std::map<const void*, emulation::Kernel> kernels;
    cudaStream_t usual = nullptr;  // the default stream
};
All& all() {
    static All* const made = new All;
    return *made;
}

// With the lock of all().
cudaStream_t add_stream() {
    auto made = std::make_shared<CUstream_st>();
    cudaStream_t const stream = made.get();
    all().streams[stream] = std::move(made);
    return stream;
}

cudaStream_t own(cudaStream_t stream) {
    if (stream != nullptr) return stream;
    const std::scoped_lock held(all().lock);
    if (all().usual == nullptr) all().usual = add_stream();
    return all().usual;
}

bool is_captured(cudaStream_t stream) {
    cudaStream_t const it = own(stream);
    const std::scoped_lock held(it->lock);
    return it->graph != nullptr;
}

void wait(CUevent_st& event, std::uint64_t version) {
    std::unique_lock held(event.lock);
    event.changed.wait(held, [&] { return event.done >= version; });
}

}  // namespace

namespace emulation {

void enqueue(cudaStream_t stream, std::function<void()> work) {
    cudaStream_t const it = own(stream);
    const std::scoped_lock held(it->lock);
    if (it->graph == nullptr) it->add(std::move(work));
}

void wait_for_all_streams() {
    std::map<cudaStream_t, std::shared_ptr<CUstream_st>> streams;  // another thread may end some
    {
        const std::scoped_lock held(all().lock);
        streams = all().streams;
    }
    for (const auto& [handle, stream] : streams) stream->wait();
}

void add_kernel(const void* function, Kernel kernel) {
    all().kernels[function] = std::move(kernel);
}

}  // namespace emulation

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int) {
    const std::scoped_lock held(all().lock);
    *stream = add_stream();
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    std::shared_ptr<CUstream_st> last;  // it ends without the lock
    const std::scoped_lock held(all().lock);
    last = std::move(all().streams[stream]);
    all().streams.erase(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (is_captured(stream)) return emulation::fail(cudaErrorStreamCaptureUnsupported);
    own(stream)->wait();
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    emulation::wait_for_all_streams();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int) {
    *event = new CUevent_st;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    wait(*event, event->recorded);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (is_captured(stream)) return emulation::fail(cudaErrorStreamCaptureUnsupported);
    const std::scoped_lock held(event->lock);
    emulation::enqueue(stream, [event, version = ++event->recorded] {
        const std::scoped_lock its(event->lock);
        event->done = version;
        event->at = Clock::now();
        event->changed.notify_all();
    });
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
    if (is_captured(stream)) return emulation::fail(cudaErrorStreamCaptureIsolation);
    const std::scoped_lock held(event->lock);
    emulation::enqueue(stream, [event, version = event->recorded] { wait(*event, version); });
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    const std::scoped_lock held(event->lock);
    return event->done == event->recorded ? cudaSuccess : emulation::fail(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    wait(*event, event->recorded);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    *milliseconds = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
    return cudaSuccess;
}

// Other memory of the host is copied before it returns.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
    emulation::enqueue(stream, [=] { std::memcpy(to, from, bytes); });
    if (emulation::is_reachable(to) && emulation::is_reachable(from)) return cudaSuccess;
    return cudaStreamSynchronize(stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    return status == cudaSuccess ? cudaStreamSynchronize(nullptr) : status;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
    emulation::enqueue(stream, [=] { std::memset(to, value, bytes); });
    return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
    return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads, void** arguments,
                             std::size_t, cudaStream_t stream) {
    const auto kernel = all().kernels.find(function);
    if (kernel == all().kernels.end()) return emulation::fail(cudaErrorInvalidDeviceFunction);
    if (blocks.x == 0 || threads.x == 0 || threads.x > 1024) {
        return emulation::fail(cudaErrorInvalidConfiguration);
    }
    emulation::enqueue(
        stream, [launch = kernel->second(arguments), blocks, threads] { launch(blocks, threads); });
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (is_captured(stream)) return emulation::fail(cudaErrorIllegalState);
    const std::scoped_lock held(stream->lock);
    stream->graph = new CUgraph_st;
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    *status = is_captured(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    const std::scoped_lock held(stream->lock);
    *graph = std::exchange(stream->graph, nullptr);
    return *graph != nullptr ? cudaSuccess : emulation::fail(cudaErrorIllegalState);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}

}  // extern "C"
