// SPDX-License-Identifier: Apache-2.0
//
// Files that hold a secret: their owner alone can read them.
#pragma once

#include <sys/types.h>

#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {

// How such a file is opened.
extern const int kPrivateOpenFlags;

// The calling user's own ~/.config/batchai/credentials/NAME.
Result<UniqueFd> open_own_credentials(const std::string& name);

// The text of an open file, 64 KiB at most: a regular file of the owner's, of mode 0600 or less.
// Errors name it as what.
Result<std::string> read_private_file(int file, uid_t owner, const std::string& what);

// The secret that a file's text is, to be a variable's value: without the ends of lines after it.
// An empty one, and one with a null byte, is an error, which names it as what.
Result<std::string> secret_of(std::string text, const std::string& what);

// The secret in the calling user's own file.
Result<std::string> read_own_secret(const std::string& name);

}  // namespace batchai::sys
