// SPDX-License-Identifier: Apache-2.0
//
// Copying memory, past the caches where that is asked for: what is larger than they are, and not
// read again soon, is written without being read first, and does not displace what they hold. For
// what fits them it is slower.
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
