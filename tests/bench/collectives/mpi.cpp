// SPDX-License-Identifier: Apache-2.0
//
// Any MPI: built once with each that is installed. Errors end the job (MPI_ERRORS_ARE_FATAL, its
// default).
#include <mpi.h>

#include "library.hpp"

namespace batchai::bench {
namespace {

class Mpi final : public Library {
  public:
    Mpi() {
        MPI_Init(nullptr, nullptr);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    ~Mpi() override { MPI_Finalize(); }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    void allreduce(const float* send, float* receive, std::size_t count) override {
        MPI_Allreduce(send, receive, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    void broadcast(float* buffer, std::size_t count) override {
        MPI_Bcast(buffer, static_cast<int>(count), MPI_FLOAT, 0, MPI_COMM_WORLD);
    }
    void allgather(const float* send, float* receive, std::size_t block) override {
        const int count = static_cast<int>(block);
        MPI_Allgather(send, count, MPI_FLOAT, receive, count, MPI_FLOAT, MPI_COMM_WORLD);
    }
    void reduce_scatter(const float* send, float* receive, std::size_t block) override {
        MPI_Reduce_scatter_block(send, receive, static_cast<int>(block), MPI_FLOAT, MPI_SUM,
                                 MPI_COMM_WORLD);
    }
    void all_to_all(const float* send, float* receive, std::size_t block) override {
        const int count = static_cast<int>(block);
        MPI_Alltoall(send, count, MPI_FLOAT, receive, count, MPI_FLOAT, MPI_COMM_WORLD);
    }
    void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  private:
    int rank_ = 0;
    int size_ = 0;
};

}  // namespace

std::unique_ptr<Library> open_library() {
    return std::make_unique<Mpi>();
}

}  // namespace batchai::bench
