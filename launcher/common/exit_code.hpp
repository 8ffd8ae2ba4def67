// SPDX-License-Identifier: Apache-2.0
//
// The exit codes of batchai-launch, besides those of ranks. docs/man/batchai-launch.1 and --help
// explain each (tests/lint/exit_codes.py).
#pragma once

namespace batchai::launcher {

enum ExitCode : int {
    kPreparationFailed = 1,  // also: standard output cannot be written
    kMisplacedOutput = 123,  // all ranks have succeeded, but some output is not in its file
    kTimedOut = 124,
    kOwnFailure = 125,  // of batchai-launch or an agent, or wrong options
    kNotExecutable = 126,
    kNotFound = 127,
    kSignalled = 128,  // plus the number of the signal
};

}  // namespace batchai::launcher
