// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/processes.hpp"
#include "launcher/agent/rank_state.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(processes)

BOOST_AUTO_TEST_CASE(a_process_that_hangs_up_is_seen_to_end) {
    int line[2];
    BOOST_REQUIRE_EQUAL(::pipe(line), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(line[0]);
        for (;;) ::pause();
    }
    ::close(line[1]);
    BOOST_TEST(!is_ending(child));
    ::kill(child, SIGKILL);
    char byte;
    BOOST_TEST(::read(line[0], &byte, 1) == 0);  // the child's end is closed
    BOOST_TEST(is_ending(child));
    ::waitpid(child, nullptr, 0);
    BOOST_TEST(is_ending(child));
    ::close(line[0]);
}

BOOST_AUTO_TEST_CASE(the_state_of_a_process_is_read_from_proc) {
    const std::string head = "7 (a) S (b)) S 1 7 7 0 -1 4194304 1 2 3 4 ";
    BOOST_TEST(process_state(head + "250 75 0 0 20 0 5 0 100 1 1", "futex_do_wait", 100) ==
               "sleeping in futex_do_wait, 3.2 s of CPU time, 5 threads");
    BOOST_TEST(process_state("7 (x) R 1 7 7 0 -1 4 1 2 3 4 0 1 0 0 20 0 1 0", "0", 100) ==
               "running, 0.0 s of CPU time");
    BOOST_TEST(process_state("", "", 100) == "is gone");
    BOOST_TEST(process_state(::getpid()).starts_with("running, "));
    BOOST_TEST(process_state(-1) == "is gone");
}

BOOST_AUTO_TEST_SUITE_END()
