// SPDX-License-Identifier: Apache-2.0
#include "sys/child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <string>
#include <thread>
#include <vector>

#include "sys/subprocess.hpp"

using namespace batchai::sys;

namespace {

int code_of(pid_t pid) {
    int status = 0;
    return ::waitpid(pid, &status, 0) == pid ? exit_code_of(status) : -1;
}

// The exit code of a shell that runs the script, with these signals blocked.
int shell(const char* script, const sigset_t* blocked = nullptr) {
    return code_of(start_child([&](const sigset_t& own) {
        ::sigprocmask(SIG_SETMASK, blocked != nullptr ? blocked : &own, nullptr);
        ::execl("/bin/sh", "sh", "-c", script, nullptr);
    }));
}

std::atomic<int> calls;

}  // namespace

BOOST_AUTO_TEST_SUITE(child)

BOOST_AUTO_TEST_CASE(it_executes_a_program_or_ends_with_1) {
    BOOST_TEST(shell("exit 7") == 7);
    const auto become = [](const sigset_t&) { ::execl("/nowhere/program", "program", nullptr); };
    BOOST_TEST(code_of(start_child(become)) == 1);
}

BOOST_AUTO_TEST_CASE(a_handler_of_the_parent_does_not_run_in_it) {
    for (const int signal : {SIGUSR1, SIGRTMIN}) {
        calls = 0;
        const auto before = ::signal(signal, [](int) { ++calls; });
        const auto become = [signal](const sigset_t& own) {
            ::kill(::getpid(), signal);
            ::sigprocmask(SIG_SETMASK, &own, nullptr);
        };
        BOOST_TEST(code_of(start_child(become)) == 128 + signal);
        BOOST_TEST(calls == 0);
        ::raise(signal);
        BOOST_TEST(calls == 1);  // the parent has kept it
        ::signal(signal, before);
    }
}

BOOST_AUTO_TEST_CASE(a_signal_that_the_parent_ignores_stays_ignored) {
    const auto before = ::signal(SIGUSR1, SIG_IGN);
    BOOST_TEST(shell("kill -USR1 $$; exit 5") == 5);
    ::signal(SIGUSR1, before);
}

BOOST_AUTO_TEST_CASE(it_learns_the_parents_mask_which_the_parent_keeps) {
    sigset_t terminate, before, after;
    ::sigemptyset(&terminate);
    BOOST_TEST(shell("kill $$; exit 3", &terminate) == 128 + SIGTERM);
    ::sigaddset(&terminate, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &terminate, &before);
    BOOST_TEST(shell("kill $$; exit 3") == 3);
    ::pthread_sigmask(SIG_SETMASK, &before, &after);
    BOOST_TEST(::sigismember(&after, SIGTERM) == 1);
    BOOST_TEST(::sigismember(&after, SIGINT) == 0);
}

BOOST_AUTO_TEST_CASE(several_threads_start_programs_at_once) {
    std::vector<std::thread> threads;
    std::atomic<int> right = 0;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            const std::string script = "exit " + std::to_string(i);
            for (int k = 0; k < 20; ++k) right += shell(script.c_str()) == i;
        });
    for (std::thread& thread : threads) thread.join();
    BOOST_TEST(right == 8 * 20);
}

BOOST_AUTO_TEST_SUITE_END()
