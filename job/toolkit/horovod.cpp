// SPDX-License-Identifier: Apache-2.0
//
// horovodSettings: `python SCRIPT ARGUMENTS` on processCount ranks. Horovod, or MPI below it,
// connects the ranks.
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

const Toolkit kHorovod = {"horovodSettings", "horovod", true, read_python_ranks, plan_python_ranks};

}  // namespace batchai::job
