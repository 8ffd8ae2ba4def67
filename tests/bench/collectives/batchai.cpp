// SPDX-License-Identifier: Apache-2.0
//
// $BENCH_BUFFERS=plain: with the buffers that the other libraries have.
#include <batchai/collectives.h>

#include <cstdlib>
#include <string_view>

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
    void barrier() override { check(batchai_coll_barrier(comm_)); }

  private:
    batchai_coll_comm* comm_ = nullptr;
};

}  // namespace

std::unique_ptr<Library> open_library() {
    return std::make_unique<Batchai>();
}

}  // namespace batchai::bench
