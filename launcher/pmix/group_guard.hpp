// SPDX-License-Identifier: Apache-2.0
//
// A guard in front of libpmix's code for groups. Before that code calls its host (us), it reads the
// rank's request. Some requests end the agent at that point, or get a false success:
//
// - PMIX_TIMEOUT: in 4.2 the timer takes the group for a request, and crashes. Later versions leave
//   a time limit to the host unless all members are local, so that it would mean two things.
// - PMIX_GROUP_INFO that is not an array of infos: 4.2 to 6.1 follow it as a pointer.
// - Members by PMIX_RANK_WILDCARD, with no context id: 4.2 takes a group over several nodes for a
//   local one, and makes it before the other nodes have asked.
//
// A rank that asks for one of these gets PMIX_ERR_NOT_SUPPORTED, as srun's PMIx answers each
// request for a group. The library gives this answer to an unknown command, so the guard replaces
// the request's command by an unknown one.
//
// It also tells the host of each rank that asks to make a group or to end it. The library tells its
// host only after the request of the node's last member.
#pragma once

#include <array>
#include <cstddef>

namespace batchai::launcher::pmix {

// What the library reads from one client: messages, each a header and a body. That form and the
// commands' numbers are the same from PMIx 4.2 to 6.1, whose clients and servers may be mixed.
class ClientMessages {
  public:
    // Bytes as the library has read them into its memory. Called on the library's thread, from
    // which libpmix may be asked to unpack.
    void on_read(char* bytes, std::size_t size);

  private:
    // pindex, tag, size: 32 bits each in network order, padded to a size_t's alignment.
    std::array<char, sizeof(std::size_t) == 8 ? 16 : 12> header_;
    std::size_t header_size_ = 0;
    char* body_ = nullptr;  // in the library's memory, while it comes in
    std::size_t body_size_ = 0, body_read_ = 0;
};

}  // namespace batchai::launcher::pmix
