// SPDX-License-Identifier: Apache-2.0
//
// Finds Slurm's commands on the machine where this program runs, which may have them elsewhere than
// the machine where it was built. The plugin and its helpers run as root, and do not look on the
// PATH (spank/slurm_command.hpp).
#pragma once

#include <string>

#include "sys/result.hpp"

namespace batchai::launcher {

// The path of a program on the PATH. Empty: not found.
std::string program_on_path(const std::string& name);

// The path of a command of Slurm's, such as srun: on the PATH, where a site may have its own sbatch
// and a user loads Slurm's module, else in the directory of BATCHAI_SRUN, the path that CMake was
// given or has found.
sys::Result<std::string> slurm_command(const std::string& name);

}  // namespace batchai::launcher
