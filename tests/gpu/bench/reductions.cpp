// SPDX-License-Identifier: Apache-2.0
//
// What CudaDevice reduces, one pass over memory, beside what a copy on the GPU reads and writes:
// bytes are those of all sources and of the result.
#include "../harness.hpp"
#include "clock.hpp"
#include "collectives/device/cuda.hpp"
#include "parts.hpp"

namespace batchai::coll::gpu {
namespace {

struct Kind {
    std::string what;
    std::size_t sources;
    batchai_coll_type type;
    std::size_t element;
};

const Kind kKinds[] = {{"reduction, 2 sources, float32", 2, BATCHAI_COLL_FLOAT32, 4},
                       {"reduction, 8 sources, float32", 8, BATCHAI_COLL_FLOAT32, 4},
                       {"reduction, 2 sources, bfloat16", 2, BATCHAI_COLL_BFLOAT16, 2},
                       {"reduction, 8 sources, bfloat16", 8, BATCHAI_COLL_BFLOAT16, 2}};

double rate_of(Device& device, std::byte* memory, const Kind& kind, Device::Stream stream,
               Device::Event end) {
    Device::Reduction reduction;
    reduction.sources = kind.sources;
    reduction.count = large() / kind.element;
    reduction.type = kind.type;
    for (std::size_t k = 0; k < kind.sources; ++k) reduction.from[k] = memory + (k + 1) * large();
    reduction.to = memory;
    const double took = seconds(large(), [&] {
        for (int i = 0; i < together(); ++i) value_of(device.reduce(reduction, stream));
        value_of(device.record(end, stream));
        while (!value_of(device.query(end))) {
        }
    });
    return static_cast<double>((kind.sources + 1) * large()) * together() / took / 1e9;
}

}  // namespace

std::vector<Row> reduction_rows() {
    std::vector<Row> rows;
    for (const Kind& kind : kKinds) {
        rows.push_back({kind.what, large(), "GB/s", 0.85, "a copy on the GPU"});
    }
    return rows;
}

void measure_reductions(Figures& figures) {
    const double bound = figures.get("copy on the GPU, read and written", large());
    run_ranks({1}, [&](int, Board&) {
        const auto device = value_of(CudaDevice::create(0));
        std::byte* memory = value_of(device->allocate(9 * large()));
        cuda(cudaMemset(memory, 0, 9 * large()), "clearing");
        const auto stream = value_of(device->make_stream());
        const auto end = value_of(device->make_event());
        for (const Kind& kind : kKinds) {
            figures.set(kind.what, large(), rate_of(*device, memory, kind, stream, end), bound);
        }
    });
}

}  // namespace batchai::coll::gpu
