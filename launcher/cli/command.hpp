// SPDX-License-Identifier: Apache-2.0
//
// The whole command line of batchai.
#pragma once

namespace batchai::cli {

// Runs one command and returns the exit code.
int run(int argc, char** argv);

}  // namespace batchai::cli
