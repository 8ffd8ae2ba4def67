// SPDX-License-Identifier: Apache-2.0
//
// Checks that a machine has what a launcher or an agent needs, where a library would fail without
// naming the cause.
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::launcher {

// The error for a fork() or vfork() that failed with this errno.
sys::Error fork_error(int code);

// An error if /proc is missing, or if the user cannot start the threads of libuv and PMIx. Without
// the check, libuv aborts and PMIx reports an internal failure.
sys::Result<void> check_machine();

}  // namespace batchai::launcher
