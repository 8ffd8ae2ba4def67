// SPDX-License-Identifier: Apache-2.0
//
// Reads files with a secret, which only their owner can read.
#pragma once

#include <sys/types.h>

#include <string>

#include "sys/result.hpp"

namespace batchai::sys {

// The flags to open such a file with.
extern const int kPrivateOpenFlags;

// The text of an open file, 64 KiB at most. It must be a regular file of owner with mode 0600 or
// less. what: its name in errors.
Result<std::string> read_private_file(int file, uid_t owner, const std::string& what);

// The secret in a file's text, as a variable's value: without line ends after it. An empty one, and
// one with a null byte, is an error. what: its name in errors.
Result<std::string> secret_of(std::string text, const std::string& what);

// The text of the calling user's own ~/.config/batchai/credentials/NAME.
Result<std::string> read_own_credentials(const std::string& name);

// The secret in that file.
Result<std::string> read_own_secret(const std::string& name);

}  // namespace batchai::sys
