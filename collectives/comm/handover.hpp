// SPDX-License-Identifier: Apache-2.0
//
// Handover: two programs in turn in the ranks of a job (`train && evaluate`), on one node. A rank
// may be in its second program while another one still ends its first: libpmix (4.2 and 5.0) then
// fails or corrupts the fence that the former is in, when the latter disconnects. So a process says
// that it is leaving before the last fence of its program, and the next program's processes wait
// for those that are leaving before their first fence.
//
// A process is leaving while it listens at an abstract socket of its rank's name: the kernel takes
// that back however the process ends, and wakes all that wait. No thread and no file are needed. A
// child that the process forks does not get the socket: the name would stay taken, and the rank's
// next program could not say that it is leaving.
// Ranks of one node that do not share a network namespace do not see each other here.
//
// Any thread may call these functions.
#pragma once

#include <chrono>
#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::coll {

// A listening socket that no child of fork() keeps.
class LeavingSocket {
  public:
    LeavingSocket() = default;
    explicit LeavingSocket(sys::UniqueFd socket);
    LeavingSocket(LeavingSocket&& other) noexcept : LeavingSocket(other.release()) {}
    LeavingSocket& operator=(LeavingSocket&& other) noexcept;
    ~LeavingSocket() { release(); }

    explicit operator bool() const { return static_cast<bool>(socket_); }

  private:
    sys::UniqueFd release();

    sys::UniqueFd socket_;
};

// This process is leaving for as long as the caller keeps the socket. An empty one: the system did
// not permit it, and no process waits.
LeavingSocket announce_leaving(const std::string& job, unsigned rank);

// Returns once no process of this user is leaving as that rank. An error names the process that has
// not ended within `limit`.
sys::Result<void> await_leaving(const std::string& job, unsigned rank,
                                std::chrono::milliseconds limit);

}  // namespace batchai::coll
