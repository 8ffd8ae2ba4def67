// SPDX-License-Identifier: Apache-2.0
//
// What a Device promises, on HostDevice with many seeds, and on a GPU if there is one.
#include "collectives/device/device.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "host_device.hpp"
#if defined(BATCHAI_HAS_GPU)
#include "collectives/device/cuda.hpp"
#include "collectives/device/nccl.hpp"
#endif

using namespace batchai::coll;

namespace {

constexpr std::uint64_t kSeeds = 200;
constexpr std::chrono::seconds kPatience{20};

template <class T>
T good(batchai::sys::Result<T> result) {
    if (!result) BOOST_FAIL(result.error().message);
    return std::move(*result);
}

void good(const batchai::sys::Result<void>& result) {
    if (!result) BOOST_FAIL(result.error().message);
}

template <class Done>
void until(Done done) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!done()) {
        if (std::chrono::steady_clock::now() > deadline) BOOST_FAIL("does not end");
    }
}

void finish(Device& device, Device::Event event) {
    until([&] { return good(device.query(event)); });
}

// The first GPU; null if there is none.
std::shared_ptr<Device> gpu() {
#if defined(BATCHAI_HAS_GPU)
    auto device = CudaDevice::create(0);
    if (device) return std::move(*device);
    BOOST_TEST_MESSAGE("no GPU: " << device.error().message);
#endif
    return nullptr;
}

// body(device) for many a device.
template <class Body>
void for_each_device(Body body) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        HostDevice device(seed);
        body(device);
    }
    if (const auto device = gpu(); device != nullptr) body(*device);
}

// A number in the device's memory, through which tests see in which order copies are done.
class Cells {
  public:
    Cells(Device& device, std::size_t count)
        : device_(device),
          memory_(good(device.allocate(count * sizeof(int)))),
          host_(reinterpret_cast<int*>(good(device.allocate_pinned((count + 1) * sizeof(int))))),
          count_(count),
          stream_(good(device.make_stream())),
          event_(good(device.make_event())) {}

    std::byte* operator[](std::size_t i) const { return memory_ + i * sizeof(int); }
    void set(const std::vector<int>& values) {
        std::copy(values.begin(), values.end(), host_);
        good(device_.copy(memory_, as_bytes(host_), count_ * sizeof(int), stream_));
        flush();
    }
    std::vector<int> get() {
        good(device_.copy(as_bytes(host_), memory_, count_ * sizeof(int), stream_));
        flush();
        return {host_, host_ + count_};
    }

  private:
    static std::byte* as_bytes(int* numbers) { return reinterpret_cast<std::byte*>(numbers); }
    void flush() {
        good(device_.record(event_, stream_));
        finish(device_, event_);
    }

    Device& device_;
    std::byte* memory_;
    int* host_;
    std::size_t count_;
    Device::Stream stream_;
    Device::Event event_;
};

void move(Device& device, const Cells& cells, std::size_t from, std::size_t to,
          Device::Stream stream) {
    good(device.copy(cells[to], cells[from], sizeof(int), stream));
}

// 7 goes from cell 0 to 1 in one stream and on to 2 in another one. Returns what has arrived.
int relayed(Device& device, bool waits) {
    Cells cells(device, 3);
    cells.set({7, 1, 2});
    const auto first = good(device.make_stream()), second = good(device.make_stream());
    const auto between = good(device.make_event()), end = good(device.make_event());
    move(device, cells, 0, 1, first);
    good(device.record(between, first));
    if (waits) good(device.wait(second, between));
    move(device, cells, 1, 2, second);
    good(device.record(end, second));
    finish(device, end);
    return cells.get()[2];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(devices)

BOOST_AUTO_TEST_CASE(an_order_does_not_run_before_the_device_is_asked) {
    HostDevice device(1);
    std::byte* host = good(device.allocate_pinned(1));
    std::byte* memory = good(device.allocate(1));
    *host = std::byte{1};
    const auto stream = good(device.make_stream());
    good(device.copy(memory, host, 1, stream));
    *host = std::byte{2};
    BOOST_TEST((*memory != std::byte{1} && *memory != std::byte{2}));
    const auto end = good(device.make_event());
    good(device.record(end, stream));
    finish(device, end);
    BOOST_TEST((*memory == std::byte{2}));
}

BOOST_AUTO_TEST_CASE(orders_that_remain_are_done_at_the_end) {
    HostDevice watching(1);
    std::byte* seen = nullptr;
    {
        HostDevice device(2);
        std::byte* memory = good(device.allocate(2));
        seen = good(watching.open(good(device.share(memory))));
        memory[0] = std::byte{1};
        good(device.copy(memory + 1, memory, 1, good(device.make_stream())));
        BOOST_TEST((seen[1] != std::byte{1}));
    }
    BOOST_TEST((seen[1] == std::byte{1}));
}

BOOST_AUTO_TEST_CASE(a_stream_is_done_in_order) {
    for_each_device([](Device& device) {
        Cells cells(device, 6);
        cells.set({1, 2, 3, 4, 5, 6});
        const auto stream = good(device.make_stream());
        const auto end = good(device.make_event());
        for (std::size_t i = 0; i < 5; ++i) move(device, cells, i, i + 1, stream);
        good(device.record(end, stream));
        finish(device, end);
        BOOST_TEST((cells.get() == std::vector<int>(6, 1)));
    });
}

BOOST_AUTO_TEST_CASE(a_wait_orders_two_streams) {
    for_each_device([](Device& device) { BOOST_TEST(relayed(device, true) == 7); });
}

BOOST_AUTO_TEST_CASE(a_missing_wait_is_noticed) {
    std::uint64_t wrong = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        HostDevice device(seed);
        wrong += relayed(device, false) != 7 ? 1 : 0;
    }
    BOOST_TEST(wrong > kSeeds / 5);
    BOOST_TEST(wrong < kSeeds * 4 / 5);
}

BOOST_AUTO_TEST_CASE(a_missing_event_is_noticed) {
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        HostDevice device(seed);
        Cells cells(device, 2);
        cells.set({7, 1});
        const auto stream = good(device.make_stream()), other = good(device.make_stream());
        const auto event = good(device.make_event());
        move(device, cells, 0, 1, stream);
        good(device.record(event, other));
        finish(device, event);
        wrong += cells.get()[1] != 7 ? 1 : 0;
    }
    BOOST_TEST(wrong > 0);
}

BOOST_AUTO_TEST_CASE(a_wait_is_for_what_was_recorded_before_it) {
    for_each_device([](Device& device) {
        const auto first = good(device.make_stream()), second = good(device.make_stream());
        const auto event = good(device.make_event()), end = good(device.make_event());
        good(device.record(event, first));
        good(device.wait(second, event));
        good(device.record(end, second));
        // A wait for this record would be one for itself.
        good(device.wait(first, end));
        good(device.record(event, first));
        finish(device, end);
        finish(device, event);
    });
}

BOOST_AUTO_TEST_CASE(an_event_stands_for_its_last_record) {
    for_each_device([](Device& device) {
        Cells cells(device, 2);
        cells.set({7, 1});
        const auto first = good(device.make_stream()), second = good(device.make_stream());
        const auto event = good(device.make_event());
        good(device.record(event, first));
        move(device, cells, 0, 1, second);
        good(device.record(event, second));
        finish(device, event);
        BOOST_TEST(cells.get()[1] == 7);
    });
}

BOOST_AUTO_TEST_CASE(an_event_that_was_never_recorded_is_done) {
    HostDevice device(1);
    const auto event = good(device.make_event());
    BOOST_TEST(good(device.query(event)));
    const auto stream = good(device.make_stream());
    good(device.wait(stream, event));
    const auto end = good(device.make_event());
    good(device.record(end, stream));
    finish(device, end);
}

BOOST_AUTO_TEST_CASE(memory_is_shared_with_another_device) {
    HostDevice one(1), other(2);
    std::byte* memory = good(one.allocate(100));
    std::byte* opened = good(other.open(good(one.share(memory))));
    memory[99] = std::byte{9};
    BOOST_TEST((opened[99] == std::byte{9}));
    BOOST_TEST(other.holds(opened + 99));
    BOOST_TEST(!other.holds(memory));
    BOOST_TEST(!one.holds(memory + 100));
    BOOST_TEST(!one.holds(good(one.allocate_pinned(8))));
    BOOST_TEST(!one.holds(nullptr));
    other.close();
    BOOST_TEST(!other.holds(opened + 99));
    BOOST_TEST(one.holds(memory));
    BOOST_TEST(!one.share(memory + 1).has_value());
    BOOST_TEST(!one.open(Device::Handle{}).has_value());
}

BOOST_AUTO_TEST_CASE(a_wrong_reduction_is_refused) {
    HostDevice device(1);
    std::byte* memory = good(device.allocate(64));
    const auto stream = good(device.make_stream());
    const auto refused = [&](const std::function<void(Device::Reduction&)>& change) {
        Device::Reduction reduction{.sources = 2, .to = memory, .count = 8};
        reduction.from[0] = memory;
        reduction.from[1] = memory + 32;
        good(device.reduce(reduction, stream));
        change(reduction);
        return !device.reduce(reduction, stream).has_value();
    };
    BOOST_TEST(refused([](auto& reduction) { reduction.op = BATCHAI_COLL_AVERAGE; }));
    BOOST_TEST(refused([](auto& reduction) { reduction.sources = 0; }));
    BOOST_TEST(refused([](auto& reduction) { reduction.sources = 17; }));
    BOOST_TEST(refused([](auto& reduction) { reduction.divisor = 0; }));
    BOOST_TEST(refused([](auto& reduction) { reduction.to += 1; }));
    BOOST_TEST(refused([](auto& reduction) { reduction.count = 9; }));
    BOOST_TEST(refused([](auto& reduction) {
        reduction.type = BATCHAI_COLL_INT32;
        reduction.before = 2;
    }));
    BOOST_TEST(refused([](auto& reduction) {
        reduction.type = BATCHAI_COLL_BOOL;
        reduction.divisor = 2;
    }));
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_the_devices_is_refused) {
    HostDevice device(1);
    std::byte* memory = good(device.allocate(8));
    std::byte outside[8] = {};
    const auto stream = good(device.make_stream());
    BOOST_TEST(!device.copy(memory, outside, 8, stream).has_value());
    BOOST_TEST(!device.copy(outside, memory, 8, stream).has_value());
    BOOST_TEST(!device.copy(memory + 1, memory, 8, stream).has_value());
    good(device.copy(memory, good(device.allocate_pinned(8)), 8, stream));
}

#if defined(BATCHAI_HAS_GPU)

BOOST_AUTO_TEST_CASE(a_gpu_that_is_not_there_is_an_error) {
    for (const int number : {-1, 1000}) {
        const auto device = CudaDevice::create(number);
        BOOST_REQUIRE(!device);
        BOOST_TEST(device.error().message != "");
        BOOST_TEST(!NcclComms(number).create({}, 0, 1).has_value());
    }
}

BOOST_AUTO_TEST_CASE(nccl_is_loaded_or_says_why_not) {
    const auto version = nccl_version();
    if (version) {
        BOOST_TEST(version->substr(0, 2) == "2.");
    } else {
        BOOST_TEST(version.error().message.find("NCCL") == 0u);
    }
}

#endif

BOOST_AUTO_TEST_SUITE_END()
