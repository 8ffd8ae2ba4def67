// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace batchai::launcher {

// `batchai-launch --agent`: what srun, or the root itself, starts on each node. Reads its bootstrap
// line from standard input.
int agent_main();

}  // namespace batchai::launcher
