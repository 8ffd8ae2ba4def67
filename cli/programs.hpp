// SPDX-License-Identifier: Apache-2.0
//
// Programs that the user sees run: with --verbose, and on this program's terminal.
#pragma once

#include <string>
#include <vector>

#include "sys/result.hpp"

namespace batchai::cli {

// After this call, each command is printed on stderr before it runs (--verbose, --debug).
void announce_programs();

// Runs argv[0] on this program's terminal and waits for its end. A name without a slash is searched
// on the PATH. A signal from the terminal reaches both processes, and only the child acts on it. A
// signal to this program alone is passed on. The child gets SIGTERM when this program dies. Returns
// the exit status, or 128+N after signal N.
sys::Result<int> run_foreground(const std::vector<std::string>& argv);

}  // namespace batchai::cli
