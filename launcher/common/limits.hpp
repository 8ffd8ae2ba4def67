// SPDX-License-Identifier: Apache-2.0
//
// Checks that a machine has what a launcher or an agent needs, for cases in which a library would
// fail without naming the cause.
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::launcher {

// What fork() has failed with. code: its errno.
sys::Error fork_error(int code);

// An error where /proc is missing, or the user may not have the threads that libuv and PMIx start:
// a libuv without them aborts, a PMIx reports an internal failure.
sys::Result<void> check_machine();

}  // namespace batchai::launcher
