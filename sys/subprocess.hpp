// SPDX-License-Identifier: Apache-2.0
//
// Subprocess: the owner of a program that this process has started. Its destructor kills the
// program, if it still runs, and reaps it. It is for a program that answers one question with its
// output and its exit code. These parts start processes by themselves, each for a reason:
//
// - spank/process.cpp: the plugin has no C++ library;
// - launcher/agent (ranks, guard) and launcher/root/starter.cpp: a process with an event loop reaps
//   its children there, and agents outlive the launcher to clean up;
// - spank/prep/command.cpp: kills all processes of the command, as a group and as orphans;
// - spank/helper/root/child.cpp, root/namespace.cpp and root/daemon_notes.cpp: a child with other
//   rights or in another namespace executes no program, and may be left behind in a dead file
//   system;
// - spank/helper/root/daemon.cpp and root/end.cpp: init becomes the parent, and it outlives the
// helper.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sys/result.hpp"

namespace batchai::sys {

struct Program {
    std::vector<std::string> argv;  // the first is a path, or a name that is on the PATH
    // "NAME=VALUE" each. nullopt: this process's environment.
    std::optional<std::vector<std::string>> environment = std::nullopt;
    // Standard input, output and error of the program; -1: those of this process.
    int in = -1;
    int out = -1;
    int err = -1;
    // True: the program gets no other descriptor. False: it also gets those without FD_CLOEXEC.
    bool closes_others = false;
    int death_signal = 0;            // sent to it when the thread that starts it ends; 0: none
    const sigset_t* mask = nullptr;  // signals to block; nullptr: those of this thread
};

class Subprocess {
  public:
    // The error names argv[0] and the reason why it cannot be executed.
    static Result<Subprocess> start(const Program&);

    Subprocess(Subprocess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    Subprocess& operator=(Subprocess&& other) noexcept;
    Subprocess(const Subprocess&) = delete;
    Subprocess& operator=(const Subprocess&) = delete;
    ~Subprocess() { (void)end(); }

    pid_t pid() const { return pid_; }  // -1 once it is reaped

    // Its exit code as a shell reports it: 128 + N after signal N; 255 if another part of the
    // process has reaped it. Call these until one has returned the code.
    int wait();
    std::optional<int> test();  // nullopt: the program still runs

    // Kills the program if it still runs. Its exit code; -1 if it was reaped before.
    int end();

  private:
    explicit Subprocess(pid_t pid) : pid_(pid) {}

    pid_t pid_;
};

struct Finished {
    int status = 0;  // exit code as of wait()
    std::string out;
    std::string err;
};

constexpr std::chrono::seconds kNoLimit = std::chrono::hours(24 * 365);

// Runs the program to its end, with input on its standard input, and reads its output, which
// replaces in, out and err of the program. If the calling thread ends before, the program gets
// SIGTERM. An error: it cannot be started, or the limit is over, and it was killed.
Result<Finished> run(Program, const std::string& input = {}, std::chrono::seconds limit = kNoLimit);
// After this call, run() calls `tell` with the words of each program before it starts.
void tell_of_runs(void (*tell)(const std::vector<std::string>& argv));

// The exit code for a status of wait(2), as a shell reports it.
int exit_code_of(int status);

// The data from each descriptor, until all writers have closed them or until the deadline. At most
// maximum bytes of each.
std::vector<std::string> read_until(
    const std::vector<int>& descriptors,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max(),
    std::size_t maximum = std::string::npos);

}  // namespace batchai::sys
