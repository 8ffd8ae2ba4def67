// SPDX-License-Identifier: Apache-2.0
//
// Runs Slurm's commands, the evaluator of --query, and the command of 'node exec'.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sys/result.hpp"
#include "sys/shell.hpp"

namespace batchai::cli {

struct Finished {
    int status = 0;  // exit status; 128+N after signal N
    std::string out;
    std::string err;
};

// Runs argv[0], a path or a name that is on the PATH, to its end, with input on its standard input,
// and with this environment ("NAME=VALUE" each), or this process's. If the calling thread ends
// before, the kernel sends SIGTERM to it. An error: it cannot be started.
sys::Result<Finished> run_program(
    const std::vector<std::string>& argv, const std::string& input = {},
    const std::optional<std::vector<std::string>>& environment = std::nullopt);

// After this call, each command is printed on stderr before it runs (--verbose, --debug).
void announce_programs();

// Runs argv[0] on this program's terminal and waits for its end. A name without a slash is searched
// on the PATH. A signal from the terminal reaches both processes, and only the child acts on it. A
// signal to this program alone is passed on. The child gets SIGTERM when this program dies. Returns
// the exit status, or 128+N after signal N.
sys::Result<int> run_foreground(const std::vector<std::string>& argv);

// The first line that is not empty.
std::string first_line(const std::string& text);

using sys::shell_quoted;

}  // namespace batchai::cli
