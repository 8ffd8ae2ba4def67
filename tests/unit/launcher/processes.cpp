// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/processes.hpp"

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

BOOST_AUTO_TEST_SUITE_END()
