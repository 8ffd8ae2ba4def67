// SPDX-License-Identifier: Apache-2.0
//
// Finds a command of the Slurm that runs this plugin. Only root decides where: the PATH, which a
// job's user sets, is not read.
#pragma once

namespace batchai::spank {

// The path of a command such as srun: in ../bin beside the program of this process, slurmstepd, so
// that it is of the same Slurm. If it is not there: in the directory of BATCHAI_SRUN, the path that
// CMake was given or has found.
struct SlurmCommand {
    explicit SlurmCommand(const char* name);
    char path[4096];
};

}  // namespace batchai::spank
