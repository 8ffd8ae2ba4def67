// SPDX-License-Identifier: Apache-2.0
#include "spank/process.hpp"

#include <signal.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>

using namespace batchai;

namespace {

// Runs a shell command; output is what it wrote.
int shell(const char* command, std::string* output = nullptr, int seconds = 20) {
    const char* argv[] = {"sh", "-c", command, nullptr};
    char variable[] = "NAME=value";
    char* const environment[] = {variable, nullptr};
    spank::MemoryFile input;
    input.add("input\n", 6);
    input.rewind();
    const spank::MemoryFile file;
    spank::Program program = {"/bin/sh", argv, environment};
    program.in = input.fd();
    program.out = file.fd();
    program.seconds = seconds;
    const int status = spank::run(program);
    char* text = file.text();
    if (output && text) *output = text;
    free(text);
    return status;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(process)

BOOST_AUTO_TEST_CASE(statuses_are_passed_on) {
    BOOST_TEST(shell("exit 0") == 0);
    BOOST_TEST(shell("exit 3") == 3);
    BOOST_TEST(shell("kill -TERM $$") == 128 + SIGTERM);
    BOOST_TEST(shell("sleep 1000", nullptr, 1) == spank::kTimedOut);
    const char* argv[] = {"x", nullptr};
    char* const environment[] = {nullptr};
    spank::Program program = {"/nowhere/x", argv, environment};
    BOOST_TEST(spank::run(program) == spank::kNotStarted);
}

BOOST_AUTO_TEST_CASE(a_program_gets_the_end_that_waits_for_this_process) {
    sigset_t end, before;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, &before);
    BOOST_TEST(shell("kill -TERM $PPID; exec sleep 1000") == 128 + SIGTERM);
    const timespec none = {};
    BOOST_TEST(sigtimedwait(&end, nullptr, &none) == SIGTERM);
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

BOOST_AUTO_TEST_CASE(a_program_has_what_is_named_and_nothing_else) {
    std::string output;
    const int leaked = dup(0);
    BOOST_TEST(shell("read -r line; echo $line $NAME $HOME; ls /proc/self/fd | wc -l", &output) ==
               0);
    close(leaked);
    BOOST_TEST(output == "input value\n4\n");  // three streams, and the directory that ls reads
}

BOOST_AUTO_TEST_CASE(a_program_has_no_blocked_signal) {
    sigset_t set;
    sigset_t before;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, &before);
    std::string output;
    shell("grep SigBlk /proc/self/status", &output);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    BOOST_TEST(output == "SigBlk:\t0000000000000000\n");
}

BOOST_AUTO_TEST_CASE(a_status_is_not_lost_where_sigchld_is_ignored) {
    struct sigaction ignored = {};
    struct sigaction before = {};
    struct sigaction after = {};
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGCHLD, &ignored, &before);
    BOOST_TEST(shell("exit 3") == 3);
    sigaction(SIGCHLD, &before, &after);
    BOOST_TEST((after.sa_handler == SIG_IGN));
}

BOOST_AUTO_TEST_SUITE_END()
