// SPDX-License-Identifier: Apache-2.0
//
// The end of communicators each of which waits for the other's, as NCCL's do on a GPU.
#include "collectives/device/aborts.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "host_device.hpp"

using namespace batchai::coll;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

struct Counts {
    std::atomic<int> begun = 0, ended = 0;
    std::atomic<bool> device_ended = false, too_early = false;
};

// Its destructor waits until `wanted` destructors of this class have begun.
class Stuck final : public StreamComm {
  public:
    Stuck(Counts& counts, int wanted) : counts_(counts), wanted_(wanted) {}
    ~Stuck() override {
        ++counts_.begun;
        while (counts_.begun < wanted_) std::this_thread::sleep_for(1ms);
        if (counts_.device_ended) counts_.too_early = true;
        ++counts_.ended;
    }
    batchai::sys::Result<bool> ready() override { return true; }
    batchai::sys::Result<void> reduce_scatter(const std::byte*, std::byte*, std::size_t,
                                              batchai_coll_type, batchai_coll_op,
                                              Device::Stream) override {
        return {};
    }
    batchai::sys::Result<void> all_gather(const std::byte*, std::byte*, std::size_t,
                                          batchai_coll_type, Device::Stream) override {
        return {};
    }
    batchai::sys::Result<void> all_reduce(const std::byte*, std::byte*, std::size_t,
                                          batchai_coll_type, batchai_coll_op,
                                          Device::Stream) override {
        return {};
    }
    batchai::sys::Result<void> finish() override { return {}; }

  private:
    Counts& counts_;
    const int wanted_;
};

class Ending final : public HostDevice {
  public:
    explicit Ending(Counts& counts) : HostDevice(1), counts_(counts) {}
    ~Ending() override { counts_.device_ended = true; }

  private:
    Counts& counts_;
};

void wait_for(const std::atomic<bool>& what) {
    const auto deadline = Clock::now() + 20s;
    while (!what && Clock::now() < deadline) std::this_thread::sleep_for(1ms);
    BOOST_TEST(what);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(aborts)

BOOST_AUTO_TEST_CASE(end_all_at_once_and_the_device_last) {
    Counts counts;
    auto device = std::make_shared<Ending>(counts);
    Aborts aborts;
    for (int i = 0; i < 2; ++i) aborts.begin(std::make_unique<Stuck>(counts, 2), device);
    aborts.begin(nullptr, std::move(device));
    aborts.wait(20s);
    BOOST_TEST(counts.ended == 2);
    BOOST_TEST(counts.device_ended);
    BOOST_TEST(!counts.too_early);
}

BOOST_AUTO_TEST_CASE(wait_no_longer_than_they_are_told) {
    Counts counts;
    {
        Aborts aborts;
        aborts.begin(std::make_unique<Stuck>(counts, 2), std::make_shared<Ending>(counts));
        const auto begun = Clock::now();
        aborts.wait(50ms);
        BOOST_TEST((Clock::now() - begun >= 50ms));
        BOOST_TEST(!counts.device_ended);
    }
    ++counts.begun;  // what it waits for
    wait_for(counts.device_ended);
}

BOOST_AUTO_TEST_CASE(have_nothing_to_wait_for) {
    Aborts().wait(20s);
}

BOOST_AUTO_TEST_SUITE_END()
