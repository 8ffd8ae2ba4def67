// SPDX-License-Identifier: Apache-2.0
//
// Runs one shell command with a deadline. Everything that it has started is killed with it when the
// time is over or when we are told to end (SIGTERM, SIGINT, SIGHUP), and when we are killed.
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::spank {

struct CommandEnd {
    enum class Reason { exited, signalled, timed_out, interrupted };
    Reason reason = Reason::exited;
    int code = 0;  // exit code or signal
};

// As `bash -c command`, without the command in any process's arguments; standard input empty, its
// outputs to the two files, with the resource limits that our environment holds (limits.hpp).
// Single-threaded callers only.
sys::Result<CommandEnd> run_command(const std::string& command, int out, int err, int seconds);

}  // namespace batchai::spank
