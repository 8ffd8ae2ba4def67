// SPDX-License-Identifier: Apache-2.0
//
// A guard before the port of the PMIx server. libpmix (4.2 to 6.1) reads a new connection's first
// message in its only progress thread, and waits for it. So a process of any user that connects and
// sends nothing would stop all PMIx calls of the node's ranks. The library has no Unix socket and
// no check before that read.
//
// Therefore this program defines accept(2). The dynamic linker binds libpmix's calls to this
// definition. It closes a connection at once unless a process of this user holds the other end.
// Only libpmix calls accept() in this program: our code and libuv call accept4().
//
// It remembers the accepted connections, so that the agent can find out whether the library has
// read everything that an ended rank had sent. In the same way this program defines read(2), which
// passes their bytes through the guard of group_guard.hpp, and recv(2), by which libpmix reads the
// first message of a connection. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "launcher/common/processes.hpp"

namespace batchai::launcher::pmix {

// Whether libraries' calls of accept(), read() and recv() arrive here. False if the program's
// linker did not export the definitions.
bool accept_is_guarded();

// Connections that the client has closed and the library has not, by the kernel's number of the
// socket (SO_COOKIE). The library closes one when it has read all of it and made its upcalls.
std::vector<std::uint64_t> unheard_connections();

// The connection whose first message this thread has read last is the rank's. Call it in the upcall
// about a connected client, which the library makes in the same function.
void name_connection(std::uint32_t rank);

// The clients' ends of the rank's open connections.
std::vector<OpenSocket> connections_of(std::uint32_t rank);

}  // namespace batchai::launcher::pmix
