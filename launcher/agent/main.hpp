// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace batchai::launcher {

// `batchai-launch --agent`: the program that srun, or the root itself, starts on each node. It
// reads its bootstrap line from standard input.
int agent_main();

}  // namespace batchai::launcher
