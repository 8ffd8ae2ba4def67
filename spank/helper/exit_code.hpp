// SPDX-License-Identifier: Apache-2.0
//
// The exit codes of batchai-helper, batchai-prep, batchai-check and batchai-fusermount.
// docs/man/spank_batchai.8 and --help explain each (tests/lint/exit_codes.py).
#pragma once

namespace batchai::spank {

enum ExitCode : int {
    kSucceeded = 0,
    kFailure = 1,  // after a line on standard error
    kWrongUsage = 2,
};

}  // namespace batchai::spank
