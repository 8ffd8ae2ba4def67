// SPDX-License-Identifier: Apache-2.0
//
// Host: what the PMIx library wants of the agent on behalf of the node's ranks. Called on the event
// loop's thread only, in the order in which the library asked.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/message.hpp"

namespace batchai::launcher::pmix {

// Answers that the library waits for. Each is completed exactly once (fence.hpp, dmodex.hpp,
// publish.hpp).
struct ModexAnswer {
    pmix_modex_cbfunc_t function = nullptr;
    void* data = nullptr;
};
struct OpAnswer {
    pmix_op_cbfunc_t function = nullptr;
    void* data = nullptr;
};
struct LookupAnswer {
    pmix_lookup_cbfunc_t function = nullptr;
    void* data = nullptr;
};

class Host {
  public:
    virtual void fence(Fence contribution, ModexAnswer answer) = 0;
    // The data of a rank of another node.
    virtual void modex(std::uint32_t rank, ModexAnswer answer) = 0;
    virtual void publish(std::vector<Item> items, OpAnswer answer) = 0;
    virtual void lookup(std::vector<std::string> keys, bool wait, LookupAnswer answer) = 0;
    virtual void unpublish(std::uint32_t owner, std::vector<std::string> keys, OpAnswer answer) = 0;
    virtual void aborted(std::uint32_t rank, int code, std::string message) = 0;
    virtual void connected(std::uint32_t rank) = 0;
    virtual void finalized(std::uint32_t rank) = 0;

  protected:
    ~Host() = default;
};

}  // namespace batchai::launcher::pmix
