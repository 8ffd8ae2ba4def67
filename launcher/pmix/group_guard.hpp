// SPDX-License-Identifier: Apache-2.0
//
// A guard before libpmix's code for groups. That code reads a rank's request before it calls its
// host (the agent). Some requests crash the agent there, or get a false success:
//
// - PMIX_TIMEOUT: in 4.2 the timer uses the group as if it were a request, and crashes. Later
//   versions leave the limit to the host unless all members are local: it would have two meanings.
// - PMIX_GROUP_INFO that is not an array of infos: 4.2 to 6.1 follow it as a pointer.
// - Members by PMIX_RANK_WILDCARD, with no context id: 4.2 takes a group over several nodes for a
//   local one, and makes it before the other nodes have asked.
//
// A rank that asks for one of these gets PMIX_ERR_NOT_SUPPORTED, as srun's PMIx answers each
// request for a group. The library gives this answer to an unknown command, so the guard replaces
// the request's command by an unknown one.
//
// It also tells the host about each rank that asks to make or end a group. The library tells the
// host only when the node's last member has asked.
#pragma once

#include <array>
#include <cstddef>

namespace batchai::launcher::pmix {

// Parses what the library reads from one client: messages of a header and a body. Their form and
// the commands' numbers are the same from PMIx 4.2 to 6.1; clients and servers of different
// versions may be mixed.
class ClientMessages {
  public:
    // Call it with bytes that the library has read into its memory, on the library's thread. It may
    // use libpmix to unpack them.
    void on_read(char* bytes, std::size_t size);

  private:
    // pindex, tag, size: 32 bits each in network order, padded to a size_t's alignment.
    std::array<char, sizeof(std::size_t) == 8 ? 16 : 12> header_;
    std::size_t header_size_ = 0;
    char* body_ = nullptr;  // in the library's memory, while the body arrives
    std::size_t body_size_ = 0, body_read_ = 0;
};

}  // namespace batchai::launcher::pmix
