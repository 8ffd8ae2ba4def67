// SPDX-License-Identifier: Apache-2.0
//
// Finds the user that holds an end of a TCP connection within this machine, for a server whose
// protocol does not authenticate its clients. The kernel looks up this one connection
// (sock_diag(7)) in about 10 us, however many connections there are; reading /proc/net/tcp takes
// milliseconds.
//
// IPv4 only. It does not find an end in another network namespace, or on another machine. The user
// is the one that made the socket; a process may pass its socket on. Thread-safe, without state.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "sys/result.hpp"

namespace batchai::sys {

enum class End { own, other };

// An error if the socket is not connected, if no open socket of this machine is that end, or if the
// kernel lacks sock_diag for TCP.
Result<uid_t> tcp_owner(int socket, End end);

// The inode of that end, which /proc/PID/fd names for each process that holds it. Errors are those
// of tcp_owner.
Result<std::uint64_t> tcp_inode(int socket, End end);

// True if a process of our own user holds the other end. False also after an error.
bool is_own_peer(int socket);

}  // namespace batchai::sys
