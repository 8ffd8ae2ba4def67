// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/processes.hpp"
#include "launcher/agent/rank_state.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
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
    BOOST_TEST(process_state("7 (x) R 1 7 7 0 -1 4 1 2 3 4 0 1 0 0 20 0 1 0 9", "0", 100) ==
               "running, 0.0 s of CPU time");
    BOOST_TEST(process_state("", "", 100) == "is gone");
    BOOST_TEST(process_state(::getpid()).starts_with("running, "));
    BOOST_TEST(process_state(-1) == "is gone");
}

// A helper that a program has started holds the program's sockets, and may live longer.
BOOST_AUTO_TEST_CASE(a_socket_belongs_to_the_process_that_has_opened_it_not_to_its_children) {
    int line[2];
    BOOST_REQUIRE_EQUAL(::pipe(line), 0);
    const pid_t program = ::fork();
    if (program == 0) {
        struct stat status {};
        ::fstat(::socket(AF_INET, SOCK_STREAM, 0), &status);
        const OpenSocket opened{status.st_ino, ticks_since_boot()};
        // The helper begins at a later tick.
        while (ticks_since_boot() == opened.time) ::usleep(1000);
        const pid_t helper = ::fork();
        if (helper == 0) {
            for (;;) ::pause();
        }
        (void)!::write(line[1], &opened, sizeof opened);
        (void)!::write(line[1], &helper, sizeof helper);
        for (;;) ::pause();
    }
    OpenSocket opened;
    pid_t helper = 0;
    BOOST_REQUIRE(::read(line[0], &opened, sizeof opened) == sizeof opened);
    BOOST_REQUIRE(::read(line[0], &helper, sizeof helper) == sizeof helper);
    const OpenSocket unknown{1, opened.time};
    BOOST_TEST(openers_of({unknown, opened}) == (std::vector<pid_t>{0, program}),
               boost::test_tools::per_element());
    ::kill(program, SIGKILL);
    ::waitpid(program, nullptr, 0);
    BOOST_TEST(openers_of({opened}).front() == 0);
    ::kill(helper, SIGKILL);
    ::close(line[0]);
    ::close(line[1]);
}

BOOST_AUTO_TEST_SUITE_END()
