// SPDX-License-Identifier: Apache-2.0
//
// Copies memory, on request past the caches (streaming). A streaming copy writes without reading
// the lines first, and does not displace data in the caches. It is for data that is larger than the
// caches and not read again soon; for smaller data it is slower.
//
// On AMD processors, copies do not use the C library. From some KiB on, glibc (2.36 at least) moves
// (moves.hpp) on processors that report moves as fast, but they are not fast for all addresses.
#pragma once

#include <cstddef>

namespace batchai::coll {

// to and from must not overlap. After a streaming copy, call end_streaming() before the store that
// shows the data to other threads or processes.
void copy_bytes(void* to, const void* from, std::size_t bytes, bool streaming = false);

// Copies to memory that another core has used last and reads next, such as a slot.
void copy_for_others(void* to, const void* from, std::size_t bytes);
// Whether long ones of these are faster for the other core than ordinary stores.
bool moves_for_others();

// Orders this thread's streaming copies before its later stores. It waits until they have left the
// processor, so call it once after many copies.
void end_streaming();

}  // namespace batchai::coll
