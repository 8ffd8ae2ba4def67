// SPDX-License-Identifier: Apache-2.0
#include "spank/prep/command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "sys/unique_fd.hpp"
#include "temporary.hpp"

using namespace batchai;
using Reason = spank::CommandEnd::Reason;

namespace {

struct Outputs {
    sys::Result<spank::CommandEnd> run(const std::string& command, int seconds = 20) const {
        const sys::UniqueFd out(
            open((directory / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        const sys::UniqueFd err(
            open((directory / "err").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        return spank::run_command(command, out.get(), err.get(), seconds);
    }
    test::TemporaryDirectory directory;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(command, Outputs)

BOOST_AUTO_TEST_CASE(outputs_and_exit_code_are_the_commands) {
    const auto end = run("echo out; echo err >&2; read -r line || exit 3");
    BOOST_REQUIRE(end);
    BOOST_TEST((end->reason == Reason::exited));
    BOOST_TEST(end->code == 3);
    BOOST_TEST(directory.read("out") == "out\n");
    BOOST_TEST(directory.read("err") == "err\n");
}

BOOST_AUTO_TEST_CASE(a_signal_is_told_apart) {
    const auto end = run("kill -SEGV $$");
    BOOST_TEST((end->reason == Reason::signalled));
    BOOST_TEST(end->code == SIGSEGV);
}

BOOST_AUTO_TEST_CASE(after_the_time_everything_it_has_started_is_gone) {
    const auto end =
        run("sleep 1000 & echo $!; setsid sleep 1001 & echo $!; trap '' TERM; sleep 1002", 1);
    BOOST_TEST((end->reason == Reason::timed_out));
    std::istringstream pids(directory.read("out"));
    int count = 0;
    for (pid_t pid = 0; pids >> pid; ++count) BOOST_TEST(kill(pid, 0) != 0);
    BOOST_TEST(count == 2);
}

BOOST_AUTO_TEST_CASE(it_has_the_limits_of_the_submission_and_not_their_variables) {
    setenv("SLURM_RLIMIT_NOFILE", "100", 1);
    setenv("SLURM_RLIMIT_CORE", "U0", 1);
    const auto end = run("ulimit -S -n; ulimit -S -c; env | grep -c SLURM_RLIMIT_");
    unsetenv("SLURM_RLIMIT_NOFILE");
    unsetenv("SLURM_RLIMIT_CORE");
    BOOST_TEST(end.has_value());
    BOOST_TEST(directory.read("out") == "100\n0\n0\n");
}

BOOST_AUTO_TEST_CASE(a_signal_to_us_ends_it) {
    const pid_t child = fork();
    if (child == 0) {
        const auto end = run("echo $$; sleep 1000");
        _exit(end && end->reason == Reason::interrupted ? 0 : 1);
    }
    while (directory.read("out").empty()) usleep(10000);
    kill(child, SIGTERM);
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(status == 0);
    BOOST_TEST(kill(std::stoi(directory.read("out")), 0) != 0);
}

BOOST_AUTO_TEST_SUITE_END()
