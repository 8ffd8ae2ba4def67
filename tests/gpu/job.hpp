// SPDX-License-Identifier: Apache-2.0
//
// Job: a rank of a job with a GPU, without a launcher: ranks that were forked find each other on
// their board. QueueJob: the same with a queue, through the C interface. And a test of jobs of all
// shapes.
#pragma once

#include <memory>
#include <numeric>
#include <type_traits>

#include "collectives/api/api.hpp"
#include "harness.hpp"
#include "memory.hpp"

namespace batchai::coll::gpu {

inline void check(batchai_coll_status status) {
    if (status != BATCHAI_COLL_OK) throw std::runtime_error(batchai_coll_last_error());
}

inline void expect(batchai_coll_status wanted, batchai_coll_status got, const std::string& what) {
    if (got == wanted) return;
    throw std::runtime_error(what + ": " + batchai_coll_status_name(got) + " instead of " +
                             batchai_coll_status_name(wanted) + " (" + batchai_coll_last_error() +
                             ")");
}

// Which GPU a rank takes: one of its own, where the machine has several; or the first one, with all
// others. NCCL is only for ranks that share none, whatever nodes they are said to be on.
enum class Place { own, shared };

inline std::vector<Place> places() {
    if (machine().gpus == 1) return {Place::shared};
    return {Place::own, Place::shared};
}

// A rank, and the GPU that it takes. One that has failed ends with its process.
class RankOnGpu {
  public:
    RankOnGpu(Board& board, int rank, int size, Place place) {
        auto made = Communicator::create(std::make_unique<BoardBootstrap>(board, 0, rank, size));
        if (!made) throw std::runtime_error(made.error().message);
        comm_ = new batchai_coll_comm{std::move(*made), {}};
        cuda(cudaGetDeviceCount(&gpus_), "looking for GPUs");
        gpu_ = place == Place::shared ? 0 : rank % std::max(gpus_, 1);
        cuda(cudaSetDevice(gpu_), "taking a GPU");
    }
    RankOnGpu(const RankOnGpu&) = delete;
    RankOnGpu& operator=(const RankOnGpu&) = delete;
    ~RankOnGpu() = default;

    batchai_coll_comm* comm() const { return comm_; }
    int rank() const { return batchai_coll_rank(comm_); }
    int size() const { return batchai_coll_size(comm_); }
    int gpu() const { return gpu_; }
    int gpus() const { return gpus_; }

  private:
    batchai_coll_comm* comm_ = nullptr;
    int gpu_ = 0, gpus_ = 0;
};

// Allreduces without a queue, so that a test chooses their order and sees the plan.
class Job : public RankOnGpu {
  public:
    using Request = DeviceCommunicator::Request;

    Job(Board& board, int rank, int size, Place place) : RankOnGpu(board, rank, size, place) {
        auto made = DeviceCommunicator::create(*comm()->communicator,
                                               api::open_gpu(gpus() > 1 ? gpu() : -1, 0));
        if (!made) throw std::runtime_error(made.error().message);
        device_ = std::move(*made);
    }

    const std::string& plan() const { return device_->plan(); }

    Request* start(const void* send, void* receive, std::size_t count, batchai_coll_type type,
                   batchai_coll_op op, const batchai_coll_scaling* scaling, cudaStream_t stream) {
        DeviceCall call = allreduce_call(static_cast<const std::byte*>(send),
                                         static_cast<std::byte*>(receive), count, type, op);
        if (scaling != nullptr) {
            call.signature.before = scaling->before;
            call.signature.after = scaling->after;
        }
        call.stream = reinterpret_cast<Device::Stream>(stream);
        expect_no_failure();
        return device_->start(call);
    }
    // Returns when all is in the stream.
    void wait(Request* request) {
        (void)device_->wait(request);
        expect_no_failure();
    }
    bool has_ended(Request* request) {
        const auto status = device_->test(request);
        expect_no_failure();
        return status == BATCHAI_COLL_OK;
    }
    void allreduce(const void* send, void* receive, std::size_t count, batchai_coll_type type,
                   batchai_coll_op op, const batchai_coll_scaling* scaling, cudaStream_t stream) {
        wait(start(send, receive, count, type, op, scaling, stream));
    }

    // Collective.
    void finish() {
        (void)device_->close();
        expect_no_failure();
        device_.reset();
        check(batchai_coll_finalize(comm()));
    }

  private:
    void expect_no_failure() const {
        const Failure& failure = device_->failure();
        if (failure.status != BATCHAI_COLL_OK) throw std::runtime_error(failure.sentence);
    }

    std::unique_ptr<DeviceCommunicator> device_;
};

class QueueJob : public RankOnGpu {
  public:
    static constexpr std::size_t kFusion = std::size_t{1} << 20;  // bytes

    QueueJob(Board& board, int rank, int size, Place place) : RankOnGpu(board, rank, size, place) {
        auto options = batchai_coll_queue_defaults();
        options.fusion_bytes = kFusion;
        check(batchai_coll_queue_open(comm(), &options, &queue_));
    }

    batchai_coll_queue* queue() const { return queue_; }

    // Of tensors in the GPU's memory.
    batchai_coll_status submit(const std::string& name,
                               const std::vector<batchai_coll_tensor>& tensors, batchai_coll_op op,
                               const batchai_coll_scaling* scaling, cudaStream_t stream,
                               batchai_coll_ticket** ticket) {
        return batchai_coll_submit_device_allreduce(queue_, name.c_str(), nullptr, tensors.data(),
                                                    tensors.size(), op, scaling, 0, gpu(), stream,
                                                    ticket);
    }
    batchai_coll_status wait(batchai_coll_ticket* ticket) {
        return batchai_coll_ticket_wait(queue_, ticket);
    }

    // Collective.
    void finish() {
        check(batchai_coll_queue_close(queue_));
        batchai_coll_queue_free(queue_);
        check(batchai_coll_finalize(comm()));
    }
    // After a failure.
    void leave() {
        (void)batchai_coll_queue_close(queue_);
        batchai_coll_queue_free(queue_);
        (void)batchai_coll_finalize(comm());
    }

  private:
    batchai_coll_queue* queue_ = nullptr;
};

// A test of jobs of all shapes and places.
template <class Kind = Job>
void for_all(
    const std::vector<std::vector<int>>& shapes,
    const std::type_identity_t<std::function<void(Kind& job, cudaStream_t stream)>>& body) {
    for (const Place place : places()) {
        for (const auto& shape : shapes) {
            const int size = std::accumulate(shape.begin(), shape.end(), 0);
            run_ranks(shape, [&](int rank, Board& board) {
                Kind job(board, rank, size, place);
                {
                    const Stream stream;
                    body(job, stream);
                    stream.wait();
                }
                job.finish();
            });
        }
    }
}

}  // namespace batchai::coll::gpu
