// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/handover.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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
    const RankSocket leaving = announce_leaving(job("one"), 1);
    const auto left = await_leaving(job("one"), 1, std::chrono::milliseconds(50));
    BOOST_REQUIRE(!left);
    BOOST_TEST(left.error().message.starts_with("process " + std::to_string(::getpid()) + ","));
}

namespace {

// A child that runs and stays until this object ends, as a daemon that a program has started.
class Child {
  public:
    Child() {
        BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0);
        process_ = ::fork();
        char byte = 0;
        if (process_ != 0) {
            BOOST_REQUIRE(::read(ends_[0], &byte, 1) == 1);
            return;
        }
        ::close(ends_[0]);
        (void)!::write(ends_[1], &byte, 1);
        (void)!::read(ends_[1], &byte, 1);
        ::_exit(0);
    }
    ~Child() {
        ::close(ends_[0]);
        ::close(ends_[1]);
        ::waitpid(process_, nullptr, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

  private:
    int ends_[2] = {};
    pid_t process_ = 0;
};

}  // namespace

// Without fork(), which would take the socket from the child.
BOOST_AUTO_TEST_CASE(does_not_wait_for_a_child_that_outlives_the_process_that_was_leaving) {
    int kept[2] = {};
    BOOST_REQUIRE(::pipe(kept) == 0);
    const std::string name = job("outlived");
    const pid_t leaving = ::fork();
    if (leaving == 0) {
        const RankSocket socket = announce_leaving(name, 1);
        if (::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr) == 0) {
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

BOOST_AUTO_TEST_CASE(the_next_program_announces_itself_although_a_child_of_the_last_one_lives) {
    RankSocket leaving = announce_leaving(job("next"), 1);
    const Child child;
    leaving = {};
    leaving = announce_leaving(job("next"), 1);
    BOOST_TEST(!!leaving);
    BOOST_TEST(!await_leaving(job("next"), 1, std::chrono::milliseconds(50)));
}

BOOST_AUTO_TEST_CASE(does_not_close_what_a_child_has_opened_since) {
    RankSocket leaving = announce_leaving(job("closed"), 1);
    const pid_t child = ::fork();
    if (child == 0) {
        const sys::UniqueFd opened(::open("/dev/null", O_RDONLY));
        leaving = {};
        ::_exit(::fcntl(opened.get(), F_GETFD) < 0 ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    BOOST_TEST(status == 0);
    BOOST_TEST(!await_leaving(job("closed"), 1, std::chrono::milliseconds(50)));
}

BOOST_AUTO_TEST_CASE(a_second_process_of_a_rank_is_refused_and_told_the_first_one) {
    const auto first = claim_rank(job("claimed"), 1, kLimit);
    BOOST_REQUIRE(first);
    BOOST_TEST(!!*first);
    const auto second = claim_rank(job("claimed"), 1, kLimit);
    BOOST_REQUIRE(!second);
    BOOST_TEST(second.error().message.starts_with("process " + std::to_string(::getpid()) +
                                                  " is rank 1 of this job already"));
    BOOST_TEST(!!claim_rank(job("claimed"), 0, kLimit));
}

BOOST_AUTO_TEST_CASE(the_next_program_has_the_rank_although_a_child_of_the_last_one_lives) {
    auto claim = claim_rank(job("free"), 1, kLimit);
    BOOST_REQUIRE(claim);
    const Child child;
    *claim = {};
    const auto next = claim_rank(job("free"), 1, kLimit);
    BOOST_REQUIRE(next);
    BOOST_TEST(!!*next);
}

BOOST_AUTO_TEST_CASE(a_process_waits_for_an_earlier_one_that_is_leaving_with_its_rank) {
    auto claim = claim_rank(job("handed"), 1, kLimit);
    BOOST_REQUIRE(claim);
    RankSocket leaving = announce_leaving(job("handed"), 1);
    BOOST_TEST(!claim_rank(job("handed"), 1, std::chrono::milliseconds(50)));
    std::thread next([&] {
        const auto taken = claim_rank(job("handed"), 1, kLimit);
        BOOST_REQUIRE(taken);
        BOOST_TEST(!!*taken);
    });
    *claim = {};
    leaving = {};
    next.join();
}

BOOST_AUTO_TEST_CASE(does_not_wait_for_a_rank_that_is_not_leaving) {
    BOOST_TEST(!!await_leaving(job("none"), 0, kLimit));
    const RankSocket other = announce_leaving(job("one"), 1);
    BOOST_REQUIRE(other);
    BOOST_TEST(!!await_leaving(job("one"), 0, kLimit));
    BOOST_TEST(!!await_leaving(job("another"), 1, kLimit));
}

BOOST_AUTO_TEST_CASE(does_not_return_before_a_rank_that_is_leaving_has_left) {
    RankSocket leaving = announce_leaving(job("one"), 1);
    BOOST_REQUIRE(leaving);
    std::atomic<int> returned = 0;
    const auto wait = [&returned] {
        if (await_leaving(job("one"), 1, kLimit)) ++returned;
    };
    std::thread first(wait), second(wait);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    BOOST_TEST(returned == 0);
    leaving = {};
    first.join();
    second.join();
    BOOST_TEST(returned == 2);
    BOOST_TEST(!!announce_leaving(job("one"), 1));  // the name is free again
}

// Names that differ in the end only, which is what PMIx servers count up.
BOOST_AUTO_TEST_CASE(does_not_take_one_job_for_another_however_long_their_names) {
    const std::string name(250, 'x');
    const RankSocket leaving = announce_leaving(job(name) + ".1", 0);
    BOOST_REQUIRE(leaving);
    BOOST_TEST(!!await_leaving(job(name) + ".2", 0, kLimit));
}

BOOST_AUTO_TEST_SUITE_END()
