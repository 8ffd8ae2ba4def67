// SPDX-License-Identifier: Apache-2.0
#include "spank/prep/command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "sys/unique_fd.hpp"
#include "tests/unit/printing.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai;
using Reason = spank::CommandEnd::Reason;

namespace {

struct Outputs {
    sys::Result<spank::CommandEnd> run(const std::string& command, int seconds = 20) const {
        const sys::UniqueFd out(
            open((directory / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        const sys::UniqueFd err(
            open((directory / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        return spank::run_command(command, out.get(), err.get(), seconds);
    }
    test::TemporaryDirectory directory;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(command, Outputs)

BOOST_AUTO_TEST_CASE(outputs_and_exit_code_are_the_commands) {
    const auto end = run("echo out; echo err >&2; read -r line || exit 3");
    BOOST_REQUIRE(end);
    BOOST_TEST(end->reason == Reason::exited);
    BOOST_TEST(end->code == 3);
    BOOST_TEST(directory.read("out") == "out\n");
    BOOST_TEST(directory.read("err") == "err\n");
}

BOOST_AUTO_TEST_CASE(the_command_is_not_among_the_arguments_of_a_process) {
    BOOST_REQUIRE(run("needle=1; tr '\\0' '\\n' </proc/$$/cmdline; cat /proc/$PPID/cmdline"));
    const std::string arguments = directory.read("out");
    BOOST_TEST(arguments.starts_with("bash\n-c\n"));
    BOOST_TEST(arguments.find("needle") == arguments.npos);
}

BOOST_AUTO_TEST_CASE(it_runs_as_with_bash_c) {
    const auto code = [this](const std::string& command) { return run(command)->code; };
    BOOST_TEST(code("echo first\necho $LINENO $0 $#\nno_such_command\nexit $?") == 127);
    BOOST_TEST(directory.read("out") == "first\n2 bash 0\n");
    BOOST_TEST(directory.read("err") == "bash: line 3: no_such_command: command not found\n");
    BOOST_TEST(code("touch " + directory / "ran" + "\nif true; then") == 2);  // a syntax error
    BOOST_TEST(access((directory / "ran").c_str(), F_OK) == 0);
    BOOST_TEST(code("set -e; false; true") == 1);
    BOOST_TEST(code("trap 'exit 6' EXIT") == 6);
    BOOST_TEST(code("exec sh -c 'exit 5'") == 5);
    BOOST_TEST(code("sh -c \"$(cat <<END\nexit 4\nEND\n)\"\n") == 4);
    // Longer than one argument may be.
    BOOST_TEST(code("x=" + std::string(200 * 1024, 'x') + "; exit ${#x}") == 200 * 1024 % 256);
}

BOOST_AUTO_TEST_CASE(it_does_not_inherit_the_file_of_the_command) {
    for (const char* command : {"ls -l /proc/self/fd; true", "exec ls -l /proc/self/fd"}) {
        BOOST_REQUIRE(run(command));
        const std::string files = directory.read("out");
        BOOST_TEST(files.find(directory / "err") != files.npos);
        BOOST_TEST(files.find("memfd:command") == files.npos);
    }
}

BOOST_AUTO_TEST_CASE(a_signal_is_told_apart) {
    const auto end = run("kill -SEGV $$");
    BOOST_TEST(end->reason == Reason::signalled);
    BOOST_TEST(end->code == SIGSEGV);
}

BOOST_AUTO_TEST_CASE(the_time_limit_kills_all_processes_of_the_command) {
    const auto end =
        run("sleep 1000 & echo $!; setsid sleep 1001 & echo $!; trap '' TERM; sleep 1002", 1);
    BOOST_TEST(end->reason == Reason::timed_out);
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

BOOST_AUTO_TEST_CASE(a_signal_that_ends_the_command_first_is_not_told_as_the_commands_fault) {
    for (const char* command : {"kill $$; sleep 1000", "sh -c 'kill $$'"}) {
        const pid_t child = fork();
        if (child == 0) {
            const auto end = run("(sleep 0.2; kill $PPID) & " + std::string(command));
            _exit(end && end->reason == Reason::interrupted && end->code == SIGTERM ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        BOOST_TEST(status == 0);
    }
    const auto alone = run("kill $$");
    BOOST_TEST(alone->reason == Reason::signalled);
}

BOOST_AUTO_TEST_SUITE_END()
