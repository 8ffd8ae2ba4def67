// SPDX-License-Identifier: Apache-2.0
//
// What packing costs: a model's gradients, of which most are small, are copied to one place, beside
// what a copy on the GPU reads and writes. Bytes are read and written.
#include "../harness.hpp"
#include "clock.hpp"
#include "collectives/device/cuda.hpp"
#include "parts.hpp"

namespace batchai::coll::gpu {
namespace {

const std::string kPacking = "packing 161 gradients of ResNet-50";
constexpr std::size_t kAlignment = 512;  // of tensors, as frameworks allocate them
constexpr std::size_t kPlace = 16;       // in the buffer

// The parameters of ResNet-50, tensor by tensor, in numbers.
std::vector<std::size_t> gradients() {
    std::vector<std::size_t> counts;
    // A convolution and the batch normalization behind it.
    const auto convolution = [&](std::size_t in, std::size_t out, std::size_t kernel) {
        counts.insert(counts.end(), {in * out * kernel * kernel, out, out});
    };
    convolution(3, 64, 7);
    std::size_t in = 64, width = 64;
    for (const int blocks : {3, 4, 6, 3}) {
        for (int block = 0; block < blocks; ++block) {
            convolution(in, width, 1);
            convolution(width, width, 3);
            convolution(width, 4 * width, 1);
            if (block == 0) convolution(in, 4 * width, 1);
            in = 4 * width;
        }
        width *= 2;
    }
    counts.insert(counts.end(), {in * 1000, 1000});
    return counts;
}

std::size_t rounded_up(std::size_t bytes, std::size_t to) {
    return (bytes + to - 1) / to * to;
}

std::size_t all_bytes() {
    std::size_t bytes = 0;
    for (const std::size_t count : gradients()) bytes += count * sizeof(float);
    return bytes;
}

// Of the tensors in `from`, in as many orders as they take.
std::vector<Device::Copies> packing(const std::byte* from, std::byte* to) {
    std::vector<Device::Copies> orders(1);
    for (const std::size_t count : gradients()) {
        if (orders.back().count == Device::Copies::kMost) orders.emplace_back();
        const std::size_t bytes = count * sizeof(float);
        orders.back().add(to, from, bytes);
        from += rounded_up(bytes, kAlignment);
        to += rounded_up(bytes, kPlace);
    }
    return orders;
}

}  // namespace

std::vector<Row> copy_rows() {
    return {{kPacking, all_bytes(), "GB/s", 0.7, "a copy on the GPU"}};
}

void measure_copies(Figures& figures) {
    const double bound = figures.get("copy on the GPU, read and written", large());
    run_ranks({1}, [&](int, Board&) {
        const auto device = value_of(CudaDevice::create(0));
        constexpr std::size_t memory = 128 * kMiB;  // more than they take
        std::byte* from = value_of(device->allocate(2 * memory));
        cuda(cudaMemset(from, 0, 2 * memory), "clearing");
        cuda(cudaDeviceSynchronize(), "clearing");
        const auto stream = value_of(device->make_stream());
        const auto end = value_of(device->make_event());
        const auto orders = packing(from, from + memory);
        const double took = seconds(large(), [&] {
            for (int i = 0; i < together(); ++i) {
                for (const Device::Copies& each : orders) {
                    value_of(device->copy_all(each, stream));
                }
            }
            value_of(device->record(end, stream));
            while (!value_of(device->query(end))) {
            }
        });
        figures.set(kPacking, all_bytes(),
                    static_cast<double>(2 * all_bytes()) * together() / took / 1e9, bound);
    });
}

}  // namespace batchai::coll::gpu
