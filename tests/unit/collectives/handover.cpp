// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/handover.hpp"

#include <sys/wait.h>
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

constexpr std::chrono::seconds kLimit(20);

}  // namespace

BOOST_AUTO_TEST_SUITE(handover)

BOOST_AUTO_TEST_CASE(does_not_wait_for_ever_for_a_rank_that_does_not_leave_and_names_its_process) {
    const sys::UniqueFd leaving = announce_leaving(job("one"), 1);
    const auto left = await_leaving(job("one"), 1, std::chrono::milliseconds(50));
    BOOST_REQUIRE(!left);
    BOOST_TEST(left.error().message.starts_with("process " + std::to_string(::getpid()) + ","));
}

// As a daemon would keep it that the earlier program has started.
BOOST_AUTO_TEST_CASE(does_not_wait_for_a_child_that_outlives_the_process_that_was_leaving) {
    int kept[2] = {};
    BOOST_REQUIRE(::pipe(kept) == 0);
    const std::string name = job("outlived");
    const pid_t leaving = ::fork();
    if (leaving == 0) {
        const sys::UniqueFd socket = announce_leaving(name, 1);
        if (::fork() == 0) {
            ::close(kept[1]);
            char byte = 0;
            (void)!::read(kept[0], &byte, 1);  // until the test ends
        }
        ::_exit(0);
    }
    ::waitpid(leaving, nullptr, 0);
    BOOST_TEST(!!await_leaving(name, 1, kLimit));
    ::close(kept[1]);
    ::close(kept[0]);
}

BOOST_AUTO_TEST_CASE(does_not_wait_for_a_rank_that_is_not_leaving) {
    BOOST_TEST(!!await_leaving(job("none"), 0, kLimit));
    const sys::UniqueFd other = announce_leaving(job("one"), 1);
    BOOST_REQUIRE(other);
    BOOST_TEST(!!await_leaving(job("one"), 0, kLimit));
    BOOST_TEST(!!await_leaving(job("another"), 1, kLimit));
}

BOOST_AUTO_TEST_CASE(does_not_return_before_a_rank_that_is_leaving_has_left) {
    sys::UniqueFd leaving = announce_leaving(job("one"), 1);
    BOOST_REQUIRE(leaving);
    std::atomic<int> returned = 0;
    const auto wait = [&returned] {
        if (await_leaving(job("one"), 1, kLimit)) ++returned;
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
    BOOST_TEST(!!await_leaving(job(name) + ".2", 0, kLimit));
}

BOOST_AUTO_TEST_SUITE_END()
