// SPDX-License-Identifier: Apache-2.0
//
// Host: the PMIx library's requests to the agent, on behalf of the node's ranks. They come on the
// event loop's thread, in the library's order.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launcher/common/message_pmix.hpp"
#include "launcher/pmix/answer.hpp"

namespace batchai::launcher::pmix {

// Gets the joined data of a fence or of making a group, and a number that no other fence has.
using WhenJoined = std::function<void(int status, std::uint64_t serial, std::string data)>;

// publish.hpp completes it.
struct LookupAnswer {
    pmix_lookup_cbfunc_t function = nullptr;
    void* data = nullptr;
};

class Host {
  public:
    virtual void fence(Fence contribution, WhenJoined answer) = 0;
    // Asks for the data of a rank on another node.
    virtual void modex(std::uint32_t rank, ModexAnswer answer) = 0;
    virtual void publish(std::vector<Item> items, OpAnswer answer) = 0;
    virtual void lookup(std::vector<std::string> keys, bool wait, LookupAnswer answer) = 0;
    virtual void unpublish(std::uint32_t owner, std::vector<std::string> keys, OpAnswer answer) = 0;
    virtual void aborted(std::uint32_t rank, int code, std::string message) = 0;
    // The rank has asked for new processes, which batchai-launch does not support.
    virtual void spawn_refused(std::uint32_t rank) = 0;
    virtual void connected(std::uint32_t rank) = 0;
    virtual void finalized(std::uint32_t rank) = 0;
    // A rank asks to make a group of these ranks, or to end it if `ranks` is empty. The library may
    // still wait for other ranks of the node.
    virtual void group_asked(const std::string& name, const std::vector<std::uint32_t>& ranks) = 0;
    virtual void notify(Notification event) = 0;
    virtual void log(std::uint32_t rank, Stream stream, std::string text) = 0;
    virtual void signal(Signal signal) = 0;

  protected:
    ~Host() = default;
};

}  // namespace batchai::launcher::pmix
