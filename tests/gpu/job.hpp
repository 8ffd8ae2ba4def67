// SPDX-License-Identifier: Apache-2.0
//
// Job: a rank of a job with a GPU, through the C interface, but for the launcher: ranks that were
// forked find each other on their board. And a test of jobs of all shapes.
#pragma once

#include <memory>
#include <numeric>

#include "collectives/api.hpp"
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

// Which GPU a rank takes: that of its local rank, where the machine has several; or the first one,
// with all others.
enum class Place { own, shared };

inline std::vector<Place> places() {
    if (machine().gpus == 1) return {Place::shared};
    return {Place::own, Place::shared};
}

class Job {
  public:
    Job(Board& board, int rank, int size, Place place) {
        auto made = Communicator::create(std::make_unique<BoardBootstrap>(board, 0, rank, size));
        if (!made) throw std::runtime_error(made.error().message);
        comm_ = new batchai_coll_comm{std::move(*made), {}};
        const int local = batchai_coll_local_rank(comm_);
        int gpus = 0;
        cuda(cudaGetDeviceCount(&gpus), "looking for GPUs");
        gpu_ = place == Place::shared ? 0 : local % std::max(gpus, 1);
        cuda(cudaSetDevice(gpu_), "taking a GPU");
        const bool chosen = place == Place::shared && gpus > 1;
        check(batchai_coll_device_open(comm_, chosen ? gpu_ : -1, &device_));
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    // A job that has failed ends with its process.
    ~Job() = default;

    batchai_coll_comm* comm() const { return comm_; }
    batchai_coll_device* device() const { return device_; }
    int rank() const { return batchai_coll_rank(comm_); }
    int size() const { return batchai_coll_size(comm_); }
    int gpu() const { return gpu_; }

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
        check(batchai_coll_finalize(comm_));
    }

  private:
    batchai_coll_comm* comm_ = nullptr;
    batchai_coll_device* device_ = nullptr;
    int gpu_ = 0;
};

// A test of jobs of all shapes and places.
inline void for_all(const std::vector<std::vector<int>>& shapes,
                    const std::function<void(Job& job, cudaStream_t stream)>& body) {
    for (const Place place : places()) {
        for (const auto& shape : shapes) {
            const int size = std::accumulate(shape.begin(), shape.end(), 0);
            run_ranks(shape, [&](int rank, Board& board) {
                Job job(board, rank, size, place);
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
