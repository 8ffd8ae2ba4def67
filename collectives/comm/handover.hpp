// SPDX-License-Identifier: Apache-2.0
//
// Handover: two programs in turn in the ranks of a job (`train && evaluate`), on one node. A rank
// may be in its second program while another rank still ends its first. When the late rank
// disconnects, libpmix (4.2 and 5.0) fails or corrupts the fence of the early rank. So a process
// announces that it is leaving before the last fence of its program. The processes of the next
// program wait for leaving processes before their first fence.
//
// A process is leaving while it listens at an abstract socket with its rank's name. The kernel
// removes the name however the process ends, and wakes all processes that wait for it. No thread
// and no file are needed. A child that the process forks does not get the socket. Otherwise the
// name would stay taken, and the rank's next program could not announce that it is leaving. Ranks
// of one node in different network namespaces do not see each other's sockets.
//
// Any thread may call these functions.
#pragma once

#include <chrono>
#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::coll {

// A listening socket that children of fork() do not keep.
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

// The process counts as leaving while the caller keeps the socket. An empty socket: the system did
// not permit it, and no process waits.
LeavingSocket announce_leaving(const std::string& job, unsigned rank);

// Returns when no process of this user is leaving as that rank. An error names the process that has
// not ended within `limit`.
sys::Result<void> await_leaving(const std::string& job, unsigned rank,
                                std::chrono::milliseconds limit);

}  // namespace batchai::coll
