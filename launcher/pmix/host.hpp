// SPDX-License-Identifier: Apache-2.0
//
// Host: the requests of the PMIx library to the agent on behalf of the node's ranks. The calls come
// only on the event loop's thread, in the order in which the library asked.
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

// What all have given to a fence, or to making a group, and a number that no other fence has.
using WhenJoined = std::function<void(int status, std::uint64_t serial, std::string data)>;

// Completed by publish.hpp.
struct LookupAnswer {
    pmix_lookup_cbfunc_t function = nullptr;
    void* data = nullptr;
};

class Host {
  public:
    virtual void fence(Fence contribution, WhenJoined answer) = 0;
    // The data of a rank of another node.
    virtual void modex(std::uint32_t rank, ModexAnswer answer) = 0;
    virtual void publish(std::vector<Item> items, OpAnswer answer) = 0;
    virtual void lookup(std::vector<std::string> keys, bool wait, LookupAnswer answer) = 0;
    virtual void unpublish(std::uint32_t owner, std::vector<std::string> keys, OpAnswer answer) = 0;
    virtual void aborted(std::uint32_t rank, int code, std::string message) = 0;
    // The rank has asked for new processes, which there are not.
    virtual void spawn_refused(std::uint32_t rank) = 0;
    virtual void connected(std::uint32_t rank) = 0;
    virtual void finalized(std::uint32_t rank) = 0;
    // A rank asks to make a group of these, or with none to end it; the library may be waiting for
    // others of the node.
    virtual void group_asked(const std::string& name, const std::vector<std::uint32_t>& ranks) = 0;
    virtual void notify(Notification event) = 0;
    virtual void log(std::uint32_t rank, Stream stream, std::string text) = 0;
    virtual void signal(Signal signal) = 0;

  protected:
    ~Host() = default;
};

}  // namespace batchai::launcher::pmix
