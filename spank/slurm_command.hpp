// SPDX-License-Identifier: Apache-2.0
//
// Finds a command of the Slurm that runs this plugin. Only root decides where: the PATH, which a
// job's user sets, is not read.
#pragma once

namespace batchai::spank {

// The path of a command such as srun: in the directory of BATCHAI_SRUN, the path that CMake was
// given or has found, else in ../bin beside the program of this process, slurmstepd. The first of
// these if it is in neither.
struct SlurmCommand {
    explicit SlurmCommand(const char* name);
    char path[4096];
};

}  // namespace batchai::spank
