// SPDX-License-Identifier: Apache-2.0
//
// CudaDevice's reductions beside plain loops, bit by bit, of random bits: all types and operations,
// numbers of sources, factors, one after another and as trees, in place and at places that are not
// aligned to 16 bytes.
#include <cstring>
#include <random>

#include "../unit/collectives/numbers.hpp"
#include "collectives/device/cuda.hpp"
#include "harness.hpp"
#include "memory.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;
namespace numbers = batchai::coll::test;

namespace {

// One reduction's shape. in_place: the source that the result replaces; -1: none.
struct Shape {
    std::size_t sources, count, offset;  // elements
    int in_place;
};

class Reducer {
  public:
    static constexpr std::size_t kMost = std::size_t{8} << 20;  // bytes of a source, with offset

    Reducer()
        : device_(value_of(CudaDevice::create(0))),
          memory_(value_of(device_->allocate((Device::Reduction::kSources + 1) * kMost))),
          host_(value_of(device_->allocate_pinned((Device::Reduction::kSources + 1) * kMost))),
          stream_(value_of(device_->make_stream())),
          end_(value_of(device_->make_event())) {}

    std::byte* host(std::size_t source) const { return host_ + source * kMost; }

    // Of what stands in host(), to host(sources).
    void run(Device::Reduction reduction, const Shape& shape, std::size_t element) {
        const std::size_t offset = shape.offset * element, bytes = shape.count * element;
        for (std::size_t k = 0; k < shape.sources; ++k) {
            std::byte* there = memory_ + k * kMost + offset;
            value_of(device_->copy(there, host(k), bytes, stream_));
            reduction.from[k] = there;
        }
        const std::size_t to =
            shape.in_place < 0 ? shape.sources : static_cast<std::size_t>(shape.in_place);
        reduction.sources = shape.sources;
        reduction.count = shape.count;
        reduction.to = memory_ + to * kMost + offset;
        value_of(device_->reduce(reduction, stream_));
        value_of(device_->copy(host(shape.sources), reduction.to, bytes, stream_));
        value_of(device_->record(end_, stream_));
        while (!value_of(device_->query(end_))) {
        }
    }

  private:
    std::shared_ptr<Device> device_;
    std::byte *memory_, *host_;
    Device::Stream stream_;
    Device::Event end_;
};

template <class Type>
typename Type::Stored expected(const Reducer& reducer, const Device::Reduction& reduction,
                               std::size_t sources, std::size_t i) {
    const auto stored = [&](std::size_t k) {
        typename Type::Stored number;
        std::memcpy(&number, reducer.host(k) + i * sizeof number, sizeof number);
        return number;
    };
    return numbers::reduced_plainly<Type>(reduction.op, sources, stored, reduction.before,
                                          reduction.after, reduction.divisor);
}

template <class Type>
void compare(Reducer& reducer, Device::Reduction reduction, const Shape& shape) {
    using Stored = typename Type::Stored;
    std::mt19937_64 random(shape.count * 100 + shape.sources);
    for (std::size_t k = 0; k < shape.sources; ++k) {
        for (std::size_t i = 0; i < shape.count; ++i) {
            const std::uint64_t bits = random();
            std::memcpy(reducer.host(k) + i * sizeof(Stored), &bits, sizeof(Stored));
        }
    }
    reduction.type = Type::kType;
    reducer.run(reduction, shape, sizeof(Stored));
    for (std::size_t i = 0; i < shape.count; ++i) {
        Stored got;
        std::memcpy(&got, reducer.host(shape.sources) + i * sizeof got, sizeof got);
        const Stored wanted = expected<Type>(reducer, reduction, shape.sources, i);
        if (numbers::same<Type>(got, wanted)) continue;
        throw std::runtime_error("type " + std::to_string(Type::kType) + ", operation " +
                                 std::to_string(reduction.op) + ", " +
                                 std::to_string(shape.sources) + " sources: number " +
                                 std::to_string(i) + " of " + std::to_string(shape.count) + " is " +
                                 std::to_string(got) + " instead of " + std::to_string(wanted));
    }
}

std::vector<Shape> shapes() {
    if (machine().brief) return {{2, 1001, 0, -1}, {3, 1001, 1, 0}};
    return {{1, 4099, 0, -1}, {2, 0, 0, -1},   {2, 1, 1, 0},       {2, 65537, 0, 1},
            {3, 4099, 1, -1}, {4, 4096, 0, 0}, {5, 70001, 1, 4},   {8, 4099, 0, -1},
            {16, 999, 0, 15}, {16, 33, 1, -1}, {2, 700001, 0, -1}, {8, 300007, 1, 3}};
}

const Registered kReductions{
    "reductions", true, [] {
        run_ranks({1}, [](int, Board&) {
            Reducer reducer;
            numbers::for_each_type([&](auto type) {
                using Type = decltype(type);
                constexpr bool kIsFloat = std::is_floating_point_v<typename Type::Value>;
                constexpr bool kIsBool = std::is_same_v<Type, numbers::Bool>;
                for (const auto op :
                     {BATCHAI_COLL_SUM, BATCHAI_COLL_MIN, BATCHAI_COLL_MAX, BATCHAI_COLL_PRODUCT}) {
                    for (const Shape& shape : shapes()) compare<Type>(reducer, {.op = op}, shape);
                }
                for (const int divisor : {2, 3, 8}) {
                    if (kIsBool) continue;
                    compare<Type>(reducer, {.divisor = divisor}, {2, 4099, 0, -1});
                    if (!kIsFloat) continue;
                    compare<Type>(reducer, {.before = 0.3, .after = 1.7, .divisor = divisor},
                                  {3, 4099, 1, 0});
                }
            });
        });
    }};

}  // namespace
