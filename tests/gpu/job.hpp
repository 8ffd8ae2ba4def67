// SPDX-License-Identifier: Apache-2.0
//
// Job: a rank of a job with a GPU, through the C interface, without a launcher: ranks that were
// forked find each other on their board. QueueJob: the same with a queue. And a test of jobs of all
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

class Job : public RankOnGpu {
  public:
    Job(Board& board, int rank, int size, Place place) : RankOnGpu(board, rank, size, place) {
        check(batchai_coll_device_open(comm(), gpus() > 1 ? gpu() : -1, &device_));
    }

    batchai_coll_device* device() const { return device_; }

    batchai_coll_device_request* start(const void* send, void* receive, std::size_t count,
                                       batchai_coll_type type, batchai_coll_op op,
                                       const batchai_coll_scaling* scaling, cudaStream_t stream) {
        batchai_coll_device_request* request = nullptr;
        check(batchai_coll_device_allreduce_async(device_, send, receive, count, type, op, scaling,
                                                  stream, &request));
        return request;
    }
    // Returns when all is in the stream.
    void allreduce(const void* send, void* receive, std::size_t count, batchai_coll_type type,
                   batchai_coll_op op, const batchai_coll_scaling* scaling, cudaStream_t stream) {
        check(batchai_coll_device_wait(start(send, receive, count, type, op, scaling, stream)));
    }

    // Collective.
    void finish() {
        check(batchai_coll_device_close(device_));
        check(batchai_coll_finalize(comm()));
    }

  private:
    batchai_coll_device* device_ = nullptr;
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
