// SPDX-License-Identifier: Apache-2.0
//
// Which user holds an end of a TCP connection within this machine: for a server whose protocol does
// not authenticate its clients. The kernel looks up the one connection (sock_diag(7)) in about
// 10 us, however many connections there are; reading /proc/net/tcp takes milliseconds.
//
// IPv4 only. An end in another network namespace, or on another machine, is not found. The user is
// the one who made the socket; a process may pass its socket on. Thread-safe; keeps nothing.
#pragma once

#include <sys/types.h>

#include "sys/result.hpp"

namespace batchai::sys {

enum class End { own, other };

// An error where the socket is not connected, where no open socket of this machine is that end, and
// where the kernel lacks sock_diag for TCP.
Result<uid_t> tcp_owner(int socket, End end);

// Whether a process of our own user holds the other end. False also after an error.
bool is_own_peer(int socket);

}  // namespace batchai::sys
