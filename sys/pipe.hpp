// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {

// Both ends of a pipe. execve closes them in a new program.
struct Pipe {
    UniqueFd read, write;
};

inline Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("pipe");
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace batchai::sys
