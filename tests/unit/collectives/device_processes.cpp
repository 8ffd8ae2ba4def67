// SPDX-License-Identifier: Apache-2.0
//
// A device's memory between processes.
#include "ends.hpp"
#include "host_device.hpp"
#include "processes.hpp"

using namespace batchai::coll;

namespace {

constexpr std::size_t kBytes = 5000;

// Adds what the other rank has in its memory to its own, and returns whether that is right.
std::string add_the_others(Bootstrap& bootstrap) {
    HostDevice device(static_cast<std::uint64_t>(bootstrap.rank()));
    const int other = 1 - bootstrap.rank();
    const auto memory = device.allocate(kBytes), result = device.allocate(kBytes);
    if (!memory || !result) return "no memory";
    std::fill_n(*memory, kBytes, static_cast<std::byte>(bootstrap.rank() + 1));
    const auto handle = device.share(*memory);
    if (!handle) return handle.error().message;
    const std::string bytes(reinterpret_cast<const char*>(handle->bytes.data()),
                            handle->bytes.size());
    if (auto published = bootstrap.publish("memory", bytes); !published) {
        return published.error().message;
    }
    const auto others = bootstrap.lookup(other, "memory");
    if (!others) return others.error().message;
    Device::Handle there;
    std::memcpy(there.bytes.data(), others->data(), there.bytes.size());
    const auto opened = device.open(there);
    if (!opened) return opened.error().message;

    const auto stream = device.make_stream();
    const auto end = device.make_event();
    Device::Reduction sum{.sources = 2, .to = *result, .count = kBytes, .type = BATCHAI_COLL_UINT8};
    sum.from[0] = *memory;
    sum.from[1] = *opened;
    if (!device.reduce(sum, *stream) || !device.record(*end, *stream)) return "no reduction";
    for (auto done = device.query(*end); !*done;) done = device.query(*end);
    const bool right =
        std::all_of(*result, *result + kBytes, [](std::byte byte) { return byte == std::byte{3}; });
    device.close();
    if (auto met = bootstrap.leave(); !met) return met.error().message;
    return right ? "" : "a wrong sum";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(device_processes)

BOOST_AUTO_TEST_CASE(reduce_each_others_memory) {
    Processes processes({1, 1});
    expect_well(processes.run([&](int rank, Board& board) {
        BoardBootstrap bootstrap(board, 0, rank, 2);
        return add_the_others(bootstrap);
    }));
}

BOOST_AUTO_TEST_SUITE_END()
