// SPDX-License-Identifier: Apache-2.0
//
// Copies memory, on request past the caches (streaming). A streaming copy writes without reading
// the lines first, and does not displace data in the caches. It is for data that is larger than the
// caches and not read again soon; for smaller data it is slower.
//
// On AMD processors, copies do not use the C library. From some KiB on, glibc (2.36 at least) uses
// `rep movsb` on processors that report it as fast. AMD processors do so since Zen 3, but there it
// is several times slower if the two addresses are aligned differently.
#pragma once

#include <cstddef>

namespace batchai::coll {

// to and from must not overlap. After a streaming copy, call end_streaming() before the store that
// shows the data to other threads or processes.
void copy_bytes(void* to, const void* from, std::size_t bytes, bool streaming = false);

// Orders this thread's streaming copies before its later stores. It waits until they have left the
// processor, so call it once after many copies.
void end_streaming();

}  // namespace batchai::coll
