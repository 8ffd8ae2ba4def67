// SPDX-License-Identifier: Apache-2.0
//
// Programs that batchai asks: jp and Slurm's commands. Found on the user's PATH, as the user's own
// shell would find them.
#pragma once

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

// Runs argv[0] from the PATH with input on its standard input, to its end. An error: it could not
// be started.
sys::Result<Finished> run_program(const std::vector<std::string>& argv,
                                  const std::string& input = {});

// From now on each program that is run is said on stderr first (--verbose, --debug).
void announce_programs();

// Runs argv[0], from the PATH where it is no path, on this program's own terminal and waits for its
// end. A signal from the terminal reaches both; this program lets the child decide, and passes on
// what only it gets. The child gets SIGTERM when this program dies. Returns the exit status, 128+N
// after signal N.
sys::Result<int> run_foreground(const std::vector<std::string>& argv);

bool on_path(const std::string& program);

// The first line that says something.
std::string first_line(const std::string& text);

using sys::shell_quoted;

}  // namespace batchai::cli
