// SPDX-License-Identifier: Apache-2.0
//
// Gloo over TCP, as in its own benchmark: ranks meet through files in $BENCH_STORE, on the
// interface $GLOO_SOCKET_IFNAME. $BENCH_GLOO_ALGORITHM: ring (its default) or bcube. Its only
// reduce-scatter works in one buffer, so it has none here.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdlib>
#include <string>

#include "library.hpp"

namespace batchai::bench {
namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr) fail(std::string(name) + " is not set");
    return value;
}

class Gloo final : public Library {
  public:
    Gloo() {
        gloo::transport::tcp::attr where;
        where.iface = variable("GLOO_SOCKET_IFNAME");
        auto device = gloo::transport::tcp::CreateDevice(where);
        gloo::rendezvous::FileStore store(variable("BENCH_STORE"));
        context_ = std::make_shared<gloo::rendezvous::Context>(std::stoi(variable("RANK")),
                                                               std::stoi(variable("WORLD_SIZE")));
        context_->connectFullMesh(store, device);
        if (variable("BENCH_GLOO_ALGORITHM") == "bcube") {
            algorithm_ = gloo::AllreduceOptions::Algorithm::BCUBE;
        }
    }

    int rank() const override { return context_->rank; }
    int size() const override { return context_->size; }
    void allreduce(const float* send, float* receive, std::size_t count) override {
        gloo::AllreduceOptions options(context_);
        options.setAlgorithm(algorithm_);
        options.setInput(const_cast<float*>(send), count);  // NOLINT: it only reads
        options.setOutput(receive, count);
        options.setReduceFunction(kSum);
        gloo::allreduce(options);
    }
    void broadcast(float* buffer, std::size_t count) override {
        gloo::BroadcastOptions options(context_);
        options.setRoot(0);
        options.setOutput(buffer, count);
        gloo::broadcast(options);
    }
    void allgather(const float* send, float* receive, std::size_t block) override {
        gloo::AllgatherOptions options(context_);
        options.setInput(const_cast<float*>(send), block);  // NOLINT: it only reads
        options.setOutput(receive, block * static_cast<std::size_t>(size()));
        gloo::allgather(options);
    }
    void all_to_all(const float* send, float* receive, std::size_t block) override {
        const std::size_t count = block * static_cast<std::size_t>(size());
        gloo::AlltoallOptions options(context_);
        options.setInput(const_cast<float*>(send), count);  // NOLINT: it only reads
        options.setOutput(receive, count);
        gloo::alltoall(options);
    }
    void barrier() override {
        gloo::BarrierOptions options(context_);
        gloo::barrier(options);
    }

  private:
    static constexpr void (*kSum)(void*, const void*, const void*, std::size_t) = &gloo::sum<float>;

    std::shared_ptr<gloo::rendezvous::Context> context_;
    gloo::AllreduceOptions::Algorithm algorithm_ = gloo::AllreduceOptions::Algorithm::RING;
};

}  // namespace

std::unique_ptr<Library> open_library() {
    return std::make_unique<Gloo>();
}

}  // namespace batchai::bench
