// SPDX-License-Identifier: Apache-2.0
//
// Handover: two programs in turn in the ranks of a job (`train && evaluate`), on one node. A rank
// may be in its second program while another one still ends its first: libpmix (4.2 and 5.0) then
// fails or corrupts the fence that the former is in, when the latter disconnects. So a process says
// that it is leaving before the last fence of its program, and the next program's processes wait
// for those that are leaving before their first fence.
//
// A process is leaving while it listens at an abstract socket of its rank's name: the kernel takes
// that back however the process ends, and wakes all that wait. No thread and no file are needed.
// Ranks of one node that do not share a network namespace do not see each other here.
//
// Any thread may call these functions.
#pragma once

#include <chrono>
#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::coll {

// This process is leaving for as long as the caller keeps the descriptor. An empty one: the system
// did not permit it, and no process waits.
sys::UniqueFd announce_leaving(const std::string& job, unsigned rank);

// Returns once no process of this user is leaving as that rank. An error names the process that has
// not ended within `limit`. A child that has only forked does not count, though it keeps the
// socket.
sys::Result<void> await_leaving(const std::string& job, unsigned rank,
                                std::chrono::milliseconds limit);

}  // namespace batchai::coll
