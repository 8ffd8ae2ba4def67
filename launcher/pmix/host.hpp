// SPDX-License-Identifier: Apache-2.0
//
// Host: the PMIx library's requests to the agent, on behalf of the node's ranks. They come on the
// event loop's thread, in the library's order.
//
// For some of them the library waits for an answer. Each answer is completed exactly once, on any
// thread. The library gets a copy of the data, and frees the copy later.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launcher/common/message_pmix.hpp"
#include "launcher/pmix/values.hpp"

namespace batchai::launcher::pmix {

// Gets the joined data of a fence or of making a group, and a number that no other fence has.
using WhenJoined = std::function<void(int status, std::uint64_t serial, std::string data)>;

struct ModexAnswer {
    pmix_modex_cbfunc_t function = nullptr;
    void* data = nullptr;
};
struct OpAnswer {
    pmix_op_cbfunc_t function = nullptr;
    void* data = nullptr;
};
struct InfoAnswer {
    pmix_info_cbfunc_t function = nullptr;
    void* data = nullptr;
};
struct LookupAnswer {
    pmix_lookup_cbfunc_t function = nullptr;
    void* data = nullptr;
};
struct SpawnAnswer {
    pmix_spawn_cbfunc_t function = nullptr;
    void* data = nullptr;
};

void complete(const ModexAnswer& answer, pmix_status_t status, std::string data);
void complete(const OpAnswer& answer, pmix_status_t status);
void complete(const InfoAnswer& answer, pmix_status_t status, const InfoList& info);
void complete(const LookupAnswer& answer, pmix_status_t status, const std::vector<Item>& items);
void complete(const SpawnAnswer& answer, pmix_status_t status, const std::string& nspace);

class Host {
  public:
    virtual void fence(Fence contribution, WhenJoined answer) = 0;
    // Ranks are numbers of the launch. Asks for the data of a rank on another node.
    virtual void modex(std::uint32_t rank, ModexAnswer answer) = 0;
    virtual void publish(std::vector<Item> items, OpAnswer answer) = 0;
    virtual void lookup(std::vector<std::string> keys, bool wait, LookupAnswer answer) = 0;
    virtual void unpublish(std::uint32_t owner, std::vector<std::string> keys, OpAnswer answer) = 0;
    virtual void aborted(int rank, int code, std::string message) = 0;
    // A rank asks for a further job.
    virtual void spawn(SpawnJob order, SpawnAnswer answer) = 0;
    // The rank has asked for new processes, and got an error. why: goes on after "new processes".
    virtual void spawn_refused(int rank, std::string why) = 0;
    virtual void connected(int rank) = 0;
    virtual void finalized(int rank) = 0;
    // A rank asks to make a group of these ranks, or to end it if `ranks` is empty. The library may
    // still wait for other ranks of the node.
    virtual void group_asked(const std::string& name, const RankSet& ranks) = 0;
    virtual void notify(Notification event) = 0;
    virtual void log(int rank, Stream stream, std::string text) = 0;
    virtual void signal(Signal signal) = 0;

  protected:
    ~Host() = default;
};

}  // namespace batchai::launcher::pmix
