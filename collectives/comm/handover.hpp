// SPDX-License-Identifier: Apache-2.0
//
// Handover: a rank is one process at a time, and may run programs in turn (`train && evaluate`).
//
// Two live processes as one rank would each pair up with one process of the other ranks, and
// results would be wrong. PMIx servers permit it, in contrast to Open MPI's mpirun. So a process
// claims its rank before it connects to the server, until it ends.
//
// A rank may be in its second program while another rank still ends its first. When the late rank
// disconnects, libpmix (4.2 and 5.0) fails or corrupts the fence of the early rank. So a process
// announces that it is leaving before the last fence of its program. The processes of the next
// program wait for leaving processes before their first fence.
//
// A process has its rank, or is leaving, while it listens at an abstract socket with that name. The
// kernel removes the name however the process ends, and wakes all processes that wait for it. No
// thread and no file are needed. A child that the process forks does not get the socket. Otherwise
// the name would stay taken, and the rank's next program could not have it. Processes in different
// network namespaces do not see each other's sockets, and do not reach one PMIx server.
//
// Any thread may call these functions.
#pragma once

#include <chrono>
#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::coll {

// A listening socket that children of fork() do not keep.
class RankSocket {
  public:
    RankSocket() = default;
    explicit RankSocket(sys::UniqueFd socket);
    RankSocket(RankSocket&& other) noexcept : RankSocket(other.release()) {}
    RankSocket& operator=(RankSocket&& other) noexcept;
    ~RankSocket() { release(); }

    explicit operator bool() const { return static_cast<bool>(socket_); }

  private:
    sys::UniqueFd release();

    sys::UniqueFd socket_;
};

// The process has the rank while the caller keeps the socket. If another process has it and is
// leaving, waits for its end, at most `limit`. An error names the process of this user that has the
// rank. An empty socket: the system did not permit it, or another user has taken the name; then
// other processes are not refused.
sys::Result<RankSocket> claim_rank(const std::string& job, unsigned rank,
                                   std::chrono::milliseconds limit);

// The process counts as leaving while the caller keeps the socket. An empty socket: the system did
// not permit it, and no process waits.
RankSocket announce_leaving(const std::string& job, unsigned rank);

// Returns when no process of this user is leaving as that rank. An error names the process that has
// not ended within `limit`.
sys::Result<void> await_leaving(const std::string& job, unsigned rank,
                                std::chrono::milliseconds limit);

}  // namespace batchai::coll
