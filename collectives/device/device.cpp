// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/device.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "collectives/common/call.hpp"
#include "collectives/reduce/kernels.hpp"

namespace batchai::coll {

namespace {

bool is_floating(batchai_coll_type type) {
    return type == BATCHAI_COLL_FLOAT32 || type == BATCHAI_COLL_FLOAT64 ||
           type == BATCHAI_COLL_FLOAT16 || type == BATCHAI_COLL_BFLOAT16;
}

bool is_aligned(const std::byte* memory, std::size_t to) {
    return reinterpret_cast<std::uintptr_t>(memory) % to == 0;
}

}  // namespace

sys::Result<void> Device::check(const Reduction& reduction) {
    const auto [from, sources, to, count, type, op, before, after, divisor] = reduction;
    if (type < BATCHAI_COLL_FLOAT32 || type > BATCHAI_COLL_BOOL || op < BATCHAI_COLL_SUM ||
        op > BATCHAI_COLL_PRODUCT || op == BATCHAI_COLL_AVERAGE) {
        return sys::Error{fmt::format("a device does not reduce type {} by operation {}",
                                      static_cast<int>(type), static_cast<int>(op))};
    }
    if (sources < 1 || sources > Reduction::kSources) {
        return sys::Error{fmt::format("a device does not reduce {} sources", sources)};
    }
    if (divisor < 1 || (type == BATCHAI_COLL_BOOL && divisor != 1) ||
        (!is_floating(type) && (before != 1 || after != 1))) {
        return sys::Error{"factors need a floating-point type"};
    }
    const std::size_t element = reduction_of(type, op).element;
    bool aligned = is_aligned(to, element);
    for (std::size_t k = 0; k < sources; ++k) aligned = aligned && is_aligned(from[k], element);
    if (!aligned) return sys::Error{"a device does not reduce numbers that are not aligned"};
    return {};
}

sys::Result<void> Device::copy_all(const Copies& copies, Stream stream) {
    for (std::size_t i = 0; i < copies.count; ++i) {
        auto done = copy(copies.to[i], copies.from[i], copies.bytes[i], stream);
        if (!done) return done;
    }
    return {};
}

sys::Result<void> Device::check_buffer(const std::byte* memory, batchai_coll_type type) const {
    if (memory == nullptr) return sys::Error{"a null buffer"};
    if (!holds(memory)) {
        return sys::Error{fmt::format("the buffer is not in the memory of {}", name())};
    }
    if (is_aligned(memory, type_size(static_cast<std::uint8_t>(type)))) return {};
    return sys::Error{"the buffer is not aligned to its type"};
}

sys::Result<void> Device::check_stream(Stream stream) {
    const auto captured = is_captured(stream);
    if (!captured) return captured.error();
    if (!*captured) return {};
    return sys::Error{"the stream is captured into a graph: call it outside of the capture"};
}

sys::Result<void> Device::make(const std::vector<Stream*>& streams,
                               const std::vector<Event*>& events) {
    for (Stream* stream : streams) {
        const auto made = make_stream();
        if (!made) return made.error();
        *stream = *made;
    }
    for (Event* event : events) {
        const auto made = make_event();
        if (!made) return made.error();
        *event = *made;
    }
    return {};
}

}  // namespace batchai::coll
