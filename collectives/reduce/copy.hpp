// SPDX-License-Identifier: Apache-2.0
//
// Copies memory, on request past the caches (streaming). A streaming copy writes without reading
// the lines first, and does not displace data in the caches. It is for data that is larger than the
// caches and not read again soon; for smaller data it is slower.
#pragma once

#include <cstddef>

#include "collectives/reduce/kernels.hpp"

namespace batchai::coll {

// to and from do not overlap. Where others are to see a streaming copy, end_streaming() comes
// before the store that tells them.
void copy(void* to, const void* from, std::size_t bytes, bool streaming,
          InstructionSet set = best_instruction_set());

// Streaming copies of this thread come before whatever it stores from now on. Waits for them to
// leave the processor: for many at once.
void end_streaming();

}  // namespace batchai::coll
