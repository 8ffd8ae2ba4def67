// SPDX-License-Identifier: Apache-2.0
//
// Runs one shell command with a deadline. It kills all processes of the command at the deadline,
// when this process gets SIGTERM, SIGINT or SIGHUP, and when this process is killed.
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::spank {

struct CommandEnd {
    enum class Reason { exited, signalled, timed_out, interrupted };
    Reason reason = Reason::exited;
    int code = 0;  // exit code or signal
};

// Runs `bash -c command` without the command in any process's arguments. Its standard input is
// empty, its outputs go to the two files, and it has the resource limits of our environment
// (limits.hpp). The caller must have one thread only.
sys::Result<CommandEnd> run_command(const std::string& command, int out, int err, int seconds);

}  // namespace batchai::spank
