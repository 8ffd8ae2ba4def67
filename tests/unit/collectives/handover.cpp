// SPDX-License-Identifier: Apache-2.0
#include "collectives/handover.hpp"

#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>
#include <thread>

using namespace batchai;
using namespace batchai::coll;

namespace {

std::string job(const std::string& name) {
    return name + "." + std::to_string(::getpid());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(handover)

BOOST_AUTO_TEST_CASE(does_not_wait_for_a_rank_that_is_not_leaving) {
    await_leaving(job("none"), 0);
    const sys::UniqueFd other = announce_leaving(job("one"), 1);
    BOOST_REQUIRE(other);
    await_leaving(job("one"), 0);
    await_leaving(job("another"), 1);
}

BOOST_AUTO_TEST_CASE(does_not_return_before_a_rank_that_is_leaving_has_left) {
    sys::UniqueFd leaving = announce_leaving(job("one"), 1);
    BOOST_REQUIRE(leaving);
    std::atomic<int> returned = 0;
    const auto wait = [&returned] {
        await_leaving(job("one"), 1);
        ++returned;
    };
    std::thread first(wait), second(wait);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    BOOST_TEST(returned == 0);
    leaving.reset();
    first.join();
    second.join();
    BOOST_TEST(returned == 2);
    BOOST_TEST(!!announce_leaving(job("one"), 1));  // the name is free again
}

// Names that differ in the end only, which is what PMIx servers count up.
BOOST_AUTO_TEST_CASE(does_not_take_one_job_for_another_however_long_their_names) {
    const std::string name(250, 'x');
    const sys::UniqueFd leaving = announce_leaving(job(name) + ".1", 0);
    BOOST_REQUIRE(leaving);
    await_leaving(job(name) + ".2", 0);
}

BOOST_AUTO_TEST_SUITE_END()
