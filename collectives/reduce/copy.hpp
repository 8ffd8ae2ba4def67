// SPDX-License-Identifier: Apache-2.0
//
// Copies memory, on request past the caches (streaming). A streaming copy writes without reading
// the lines first, and does not displace data in the caches. It is for data that is larger than the
// caches and not read again soon; for smaller data it is slower.
#pragma once

#include <cstddef>

#include "collectives/reduce/kernels.hpp"

namespace batchai::coll {

// to and from must not overlap. After a streaming copy, call end_streaming() before the store that
// shows the data to other threads or processes.
void copy(void* to, const void* from, std::size_t bytes, bool streaming,
          InstructionSet set = best_instruction_set());

// Orders this thread's streaming copies before its later stores. It waits until they have left the
// processor, so call it once after many copies.
void end_streaming();

}  // namespace batchai::coll
