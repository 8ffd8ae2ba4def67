// SPDX-License-Identifier: Apache-2.0
//
// The staging pipeline by itself: a rank that is alone takes its numbers to pinned memory, chunk by
// chunk, where no rank adds any, and back. So the wire, which on one machine is no network's, does
// not hide what the pipeline can do.
//
// Bound: all S bytes go out and all come in, and both directions can be busy at once: S / the rate
// of the slower direction while both are. What the first chunk takes to go out and the last one to
// come in is above it.
#include "../harness.hpp"
#include "clock.hpp"
#include "collectives/comm/comm.hpp"
#include "collectives/device/cuda.hpp"
#include "collectives/device/through_host.hpp"
#include "drive.hpp"
#include "parts.hpp"

namespace batchai::coll::gpu {
namespace {

const std::string kStaging = "staging";
constexpr std::size_t kUsual = 4 * kMiB;  // as in DeviceCommunicator's ways

std::string of_chunks(std::size_t bytes) {
    return kStaging + ", chunks of " + std::to_string(bytes >> 10) + " KiB";
}
constexpr std::size_t kChunks[] = {kMiB / 2, kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB, 16 * kMiB};

class Staging {
  public:
    Staging(Communicator& comm, std::size_t chunk_bytes)
        : device_(value_of(CudaDevice::create(0))),
          orders_(*device_),
          memory_(value_of(device_->allocate(sizes().back()))),
          stream_(value_of(device_->make_stream())),
          end_(value_of(device_->make_event())),
          staged_(value_of(ThroughHost::create(*device_, orders_, comm.engine(), chunk_bytes))) {}

    double milliseconds(std::size_t bytes) {
        DeviceCall call = allreduce_call(memory_, memory_, bytes / sizeof(float));
        call.stream = stream_;
        return 1000 * seconds(bytes, [&] {
                   drive(*staged_, orders_, call);
                   value_of(device_->record(end_, stream_));
                   while (!value_of(device_->query(end_))) {
                   }
               });
    }

  private:
    std::shared_ptr<Device> device_;
    Orders orders_;
    std::byte* memory_;
    Device::Stream stream_;
    Device::Event end_;
    std::unique_ptr<ThroughHost> staged_;
};

}  // namespace

std::vector<Row> staging_rows() {
    std::vector<Row> rows;
    for (const std::size_t bytes : sizes()) {
        rows.push_back(
            {kStaging, bytes, "ms", bytes >= 64 * kMiB ? 0.9 : 0, "both directions at once"});
    }
    for (const std::size_t chunk : kChunks) {
        rows.push_back({of_chunks(chunk), 64 * kMiB, "ms", 0, "both directions at once"});
    }
    return rows;
}

void measure_staging(Figures& figures) {
    const double rate = staging_rate(figures);
    const auto bound = [&](std::size_t bytes) { return static_cast<double>(bytes) / rate * 1000; };
    run_ranks({1}, [&](int rank, Board& board) {
        const auto comm =
            value_of(Communicator::create(std::make_unique<BoardBootstrap>(board, 0, rank, 1)));
        {
            Staging staging(*comm, kUsual);
            for (const std::size_t bytes : sizes()) {
                figures.set(kStaging, bytes, staging.milliseconds(bytes), bound(bytes));
            }
        }
        for (const std::size_t chunk : kChunks) {
            Staging staging(*comm, chunk);
            figures.set(of_chunks(chunk), 64 * kMiB, staging.milliseconds(64 * kMiB),
                        bound(64 * kMiB));
        }
        (void)comm->finalize();
    });
}

}  // namespace batchai::coll::gpu
