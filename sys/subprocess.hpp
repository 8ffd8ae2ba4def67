// SPDX-License-Identifier: Apache-2.0
//
// Subprocess: the owner of a program that this process has started. The program is killed and
// reaped at the latest when its owner is destroyed. It is for a program that is asked something and
// answers with its output and its exit code. These fork by themselves, for a reason each:
//
// - spank/process.cpp: the plugin has no C++ library;
// - launcher/agent (ranks, guard) and launcher/root/starter.cpp: a process with an event loop reaps
//   its children there, and agents outlive the launcher to clean up;
// - spank/prep/command.cpp: kills all that the command has started, as a group and as orphans;
// - spank/helper/credentials.cpp, namespace.cpp and daemon_notes.cpp: a child with other rights or
//   in another namespace executes no program, and may be left behind in a dead file system;
// - spank/helper/daemon.cpp and end.cpp: the process belongs to nobody, and outlives the helper.
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
    // "NAME=VALUE" each; nothing: as this process has it.
    std::optional<std::vector<std::string>> environment = std::nullopt;
    // What becomes standard input, output and error; -1: as this process has it.
    int in = -1;
    int out = -1;
    int err = -1;
    // The program gets no other descriptor. Otherwise those without FD_CLOEXEC are its too.
    bool closes_others = false;
    int death_signal = 0;            // sent to it when the thread that starts it ends; 0: none
    const sigset_t* mask = nullptr;  // of blocked signals; nullptr: as this thread has it
};

class Subprocess {
  public:
    // The error: argv[0], and why it could not be executed.
    static Result<Subprocess> start(const Program&);

    Subprocess(Subprocess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    Subprocess& operator=(Subprocess&& other) noexcept;
    Subprocess(const Subprocess&) = delete;
    Subprocess& operator=(const Subprocess&) = delete;
    ~Subprocess() { (void)end(); }

    pid_t pid() const { return pid_; }  // -1 once it is reaped

    // Its exit code as a shell has it: 128 + N after signal N; 255 if something else has reaped it.
    // Call these until one has returned it.
    int wait();
    std::optional<int> test();  // nothing: it runs

    // Kills the program if it still runs. Its exit code; -1 if it was reaped before.
    int end();

  private:
    explicit Subprocess(pid_t pid) : pid_(pid) {}

    pid_t pid_;
};

// From a status of wait(2), as a shell has it.
int exit_code_of(int status);

// What comes out of the descriptors until all writers have closed them, or until the deadline; of
// each at most the maximum.
std::vector<std::string> read_until(
    const std::vector<int>& descriptors,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max(),
    std::size_t maximum = std::string::npos);

}  // namespace batchai::sys
