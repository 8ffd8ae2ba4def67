// SPDX-License-Identifier: Apache-2.0
//
// $BENCH_BUFFERS=plain: with the buffers that the other libraries have.
#include <batchai/collectives.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "library.hpp"

namespace batchai::bench {
namespace {

void check(batchai_coll_status status) {
    if (status != BATCHAI_COLL_OK) fail(batchai_coll_last_error());
}

class Batchai final : public Library {
  public:
    Batchai() { check(batchai_coll_init(&comm_)); }
    ~Batchai() override { check(batchai_coll_finalize(comm_)); }

    int rank() const override { return batchai_coll_rank(comm_); }
    int size() const override { return batchai_coll_size(comm_); }
    void* allocate(std::size_t bytes) override {
        const char* wanted = std::getenv("BENCH_BUFFERS");
        if (wanted != nullptr && std::string_view(wanted) == "plain") return nullptr;
        void* memory = nullptr;
        check(batchai_coll_allocate(comm_, bytes, &memory));
        return memory;
    }
    void allreduce(const float* send, float* receive, std::size_t count) override {
        check(batchai_coll_allreduce(comm_, send, receive, count, BATCHAI_COLL_FLOAT32,
                                     BATCHAI_COLL_SUM, nullptr));
    }
    void broadcast(float* buffer, std::size_t count) override {
        check(batchai_coll_broadcast(comm_, buffer, count, BATCHAI_COLL_FLOAT32, 0));
    }
    void allgather(const float* send, float* receive, std::size_t block) override {
        check(batchai_coll_allgather(comm_, send, receive, block, BATCHAI_COLL_FLOAT32));
    }
    void reduce_scatter(const float* send, float* receive, std::size_t block) override {
        counts_.assign(static_cast<std::size_t>(size()), block);
        check(batchai_coll_reduce_scatter(comm_, send, receive, counts_.data(),
                                          BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM, nullptr));
    }
    void all_to_all(const float* send, float* receive, std::size_t block) override {
        check(batchai_coll_alltoall(comm_, send, receive, block, BATCHAI_COLL_FLOAT32));
    }
    void barrier() override { check(batchai_coll_barrier(comm_)); }

  private:
    batchai_coll_comm* comm_ = nullptr;
    std::vector<std::size_t> counts_;
};

}  // namespace

std::unique_ptr<Library> open_library() {
    return std::make_unique<Batchai>();
}

}  // namespace batchai::bench
