// SPDX-License-Identifier: Apache-2.0
//
// The processes below this one. Agent and guard are child subreapers: whatever a rank leaves behind
// becomes their child and is found here.
#pragma once

namespace batchai::launcher {

// Sends the signal to every child of this process; returns how many there are.
int signal_children(int signal);

// Kills every process below this one, however deep, and waits for all of them.
void kill_descendants();

}  // namespace batchai::launcher
