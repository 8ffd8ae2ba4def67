// SPDX-License-Identifier: Apache-2.0
//
// chainerSettings: `python SCRIPT ARGUMENTS` on processCount ranks of MPI. ChainerMN uses MPI
// through mpi4py.
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

const Toolkit kChainer = {"chainerSettings", "chainer", true, read_python_ranks, plan_python_ranks};

}  // namespace batchai::job
