// SPDX-License-Identifier: Apache-2.0
//
// Identity: compares what several launchers say about this process. The PMIx server of one launcher
// gives the process its rank. If another launcher between that one and this process has started
// several processes, all of them would take part as one rank, and results would be wrong.
//
// It reads variables only, so it can be called before the process connects to the server. Settings
// that do no harm pass: a torchrun with one process in each rank, a smaller WORLD_SIZE for torch
// alone, a RANK that the script sets itself, Slurm's numbers of the batch script.
#pragma once

#include <functional>
#include <string>

#include "sys/result.hpp"

namespace batchai::coll {

// How batchai-launch's PMIx namespaces begin.
inline constexpr char kNamespaceOfBatchai[] = "batchai.";

// The value of an environment variable; empty: it is not set.
using Variables = std::function<std::string(const char* name)>;

// An error names both launchers and their numbers.
sys::Result<void> check_identity(const Variables& variable);

// For a process without a PMIx server, which is a job of its own: the remark that its launcher has
// started several such processes. Empty: there is no such launcher, or this is not its first
// process, so that one process speaks for all.
std::string remark_of_lone_process(const Variables& variable);

}  // namespace batchai::coll
