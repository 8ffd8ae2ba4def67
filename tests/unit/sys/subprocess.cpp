// SPDX-License-Identifier: Apache-2.0
#include "sys/subprocess.hpp"

#include <sys/wait.h>

#include <boost/test/unit_test.hpp>

#include "sys/pipe.hpp"

using namespace batchai::sys;

namespace {

bool is_gone(pid_t pid) {
    return ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(subprocess)

BOOST_AUTO_TEST_CASE(it_gets_input_and_gives_output_errors_and_status) {
    const std::string much(300'000, 'x');
    const auto done = run({{"sh", "-c", "cat; echo oops >&2; exit 3"}}, much);
    BOOST_REQUIRE(done);
    BOOST_TEST((done->out == much));
    BOOST_TEST(done->err == "oops\n");
    BOOST_TEST(done->status == 3);
    BOOST_TEST(run({{"sh", "-c", "kill -9 $$"}})->status == 137);
    BOOST_TEST(run({{"true"}}, much)->status == 0);
}

BOOST_AUTO_TEST_CASE(a_missing_program_is_an_error) {
    BOOST_TEST(!run({{"batchai-no-such-program"}}));
}

BOOST_AUTO_TEST_CASE(a_program_that_takes_longer_than_its_limit_is_killed) {
    const auto done = run({{"sh", "-c", "exec sleep 60"}}, {}, std::chrono::seconds(1));
    BOOST_REQUIRE(!done);
    BOOST_TEST(done.error().message == "no answer in 1 s");
}

BOOST_AUTO_TEST_CASE(it_has_the_environment_that_it_is_given_and_no_other) {
    Program program{{"/usr/bin/env"}};
    program.environment = {"A=1", "B=two words"};
    BOOST_TEST(run(program)->out == "A=1\nB=two words\n");
}

BOOST_AUTO_TEST_CASE(a_descriptor_that_it_is_not_given_is_closed) {
    const int leaked = ::dup(2);
    Program program{{"sh", "-c", "[ ! -e /proc/self/fd/" + std::to_string(leaked) + " ]"}};
    BOOST_TEST(run(program)->status == 1);
    program.closes_others = true;
    BOOST_TEST(run(program)->status == 0);
    ::close(leaked);
}

BOOST_AUTO_TEST_CASE(output_and_errors_may_change_places) {
    auto pipe = make_pipe().value();
    Program program{{"sh", "-c", "echo out; echo err >&2"}};
    program.out = program.err = pipe.write.get();
    auto started = Subprocess::start(program);
    BOOST_REQUIRE(started);
    pipe.write.reset();
    BOOST_TEST(read_until({pipe.read.get()}).at(0) == "out\nerr\n");
    BOOST_TEST(started->wait() == 0);
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_is_an_error_and_leaves_no_child) {
    const auto started = Subprocess::start({{"/nowhere/program"}});
    BOOST_REQUIRE(!started);
    BOOST_TEST(started.error().message == "/nowhere/program: No such file or directory");
    BOOST_TEST(::waitpid(-1, nullptr, WNOHANG) == -1);
}

BOOST_AUTO_TEST_CASE(it_does_not_outlive_its_owner) {
    pid_t pid = -1;
    {
        auto started = Subprocess::start({{"sleep", "1000"}});
        BOOST_REQUIRE(started);
        BOOST_TEST(!started->test());
        pid = started->pid();
        const Subprocess moved = *std::move(started);
        BOOST_TEST(started->pid() == -1);
        BOOST_TEST(!is_gone(pid));
    }
    BOOST_TEST(is_gone(pid));
}

BOOST_AUTO_TEST_CASE(a_program_that_says_nothing_does_not_hold_up_its_reader) {
    auto pipe = make_pipe().value();
    Program program{{"sh", "-c", "echo first; exec sleep 1000"}};
    program.out = pipe.write.get();
    auto started = Subprocess::start(program);
    BOOST_REQUIRE(started);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    // The first word may be late on a busy machine; that the reader comes back is what counts.
    const auto text = read_until({pipe.read.get()}, deadline).at(0);
    BOOST_TEST((text.empty() || text == "first\n"));
    BOOST_TEST(std::chrono::steady_clock::now().time_since_epoch().count() >=
               deadline.time_since_epoch().count());
}

BOOST_AUTO_TEST_CASE(no_more_is_read_than_the_maximum) {
    auto pipe = make_pipe().value();
    Program program{{"head", "-c", "100000", "/dev/zero"}};
    program.out = pipe.write.get();
    auto started = Subprocess::start(program);
    BOOST_REQUIRE(started);
    pipe.write.reset();
    const auto forever = std::chrono::steady_clock::time_point::max();
    BOOST_TEST(read_until({pipe.read.get()}, forever, 10).at(0).size() == 10U);
}

BOOST_AUTO_TEST_CASE(
    a_program_that_something_else_has_reaped_is_not_said_to_run_or_to_have_succeeded) {
    for (const bool waits : {true, false}) {
        auto started = Subprocess::start({{"true"}});
        BOOST_REQUIRE(started);
        BOOST_TEST(::waitpid(started->pid(), nullptr, 0) == started->pid());
        BOOST_TEST((waits ? started->wait() : started->test().value_or(-1)) == 255);
        BOOST_TEST(started->pid() == -1);
    }
}

BOOST_AUTO_TEST_CASE(a_program_does_not_run_without_the_descriptor_that_it_was_to_get) {
    Program program{{"true"}};
    program.out = 1 << 20;
    const auto started = Subprocess::start(program);
    BOOST_REQUIRE(!started);
    BOOST_TEST(started.error().message == "true: Bad file descriptor");
}

BOOST_AUTO_TEST_SUITE_END()
