// SPDX-License-Identifier: Apache-2.0
//
// A guard in front of the port of the PMIx server. libpmix (4.2 to 6.1) reads a new connection's
// first message in its one progress thread and waits for it: a process of any user that connects
// and stays silent would stop every PMIx call of the node's ranks. The library has no Unix socket
// and no check before that read.
//
// Therefore this program defines accept(2) itself. The dynamic linker binds libpmix's call to this
// definition, which closes a connection at once unless a process of our own user holds its other
// end. Only libpmix calls accept() here: our own code and libuv call accept4().
//
// It remembers the connections that it accepts, so that the agent can tell whether the library has
// read everything that an ended rank had sent. Their bytes pass through another guard
// (group_guard.hpp) by the same means: this program defines read(2), too. All functions are
// thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace batchai::launcher::pmix {

// Whether a library's calls of accept() and read() end here. False in a program whose linker did
// not export the definition.
bool accept_is_guarded();

// Connections, by the kernel's number of the socket (SO_COOKIE), that the client has closed and the
// library has not: it closes one when it has read all of it and made the upcalls for it.
std::vector<std::uint64_t> unheard_connections();

}  // namespace batchai::launcher::pmix
