// SPDX-License-Identifier: Apache-2.0
//
// Starts one rank in a process group of its own, bound to its CPUs. The kernel kills the rank when
// the agent dies.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "sys/unique_fd.hpp"

namespace batchai::launcher {

struct SpawnRequest {
    std::vector<std::string> argv;
    std::map<std::string, std::string> environment;
    std::string directory;
    std::vector<int> cpus;    // empty: the agent's CPUs
    bool with_input = false;  // false: standard input is /dev/null
    int inherited = -1;       // a descriptor that the rank inherits with its number; -1: none
};

struct Spawned {
    pid_t pid = -1;
    sys::UniqueFd input, output, error;  // the agent's ends; output and error do not block
};

// Why a rank could not be started.
struct SpawnFailure {
    int code = 0;  // kNotFound, kNotExecutable or kOwnFailure; 0: the rank runs
    std::string message;
};

SpawnFailure spawn(const SpawnRequest& request, Spawned& spawned);
// Why spawn() would fail, as far as it is known without starting the program.
SpawnFailure check_program(const SpawnRequest& request);

}  // namespace batchai::launcher
