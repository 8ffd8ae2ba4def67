// SPDX-License-Identifier: Apache-2.0
//
// The messages between root and agents for ranks that use PMIx or PMI-1 (fences, modex data,
// published values, events), and for ranks of Horovod's own Gloo.
#pragma once

#include "launcher/common/message.hpp"

namespace batchai::launcher {

// Whether a rank of this job on the node is between PMIx_Init and PMIx_Finalize. Sent when that
// changes.
struct Joined {
    int job = 0;  // Job::first
    bool any = false;
    BATCHAI_MESSAGE(joined, job, any);
};

inline constexpr const char* kPmi1 = "PMI-1";
inline constexpr const char *kConstruct = "construct ",
                            *kDestruct = "destruct ";  // and a group's name

// Identifies a fence: its number among the fences over the same ranks for the same purpose. The
// purpose is kPmi1, making or ending a PMIx group or connection, or empty for a plain PMIx fence.
struct FenceId {
    std::string purpose;
    RankSet procs;  // the ranks that take part
    std::uint64_t number = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over the compiler's own code
    auto operator<=>(const FenceId&) const = default;
    bool same_series(const FenceId& other) const {
        return purpose == other.purpose && procs == other.procs;
    }
    BATCHAI_FIELDS(purpose, procs, number);
};
// Up the tree: the data of a node, or of a node and all nodes below it.
struct Fence {
    FenceId id;
    std::int32_t status = 0;
    std::vector<int> broken;  // nodes whose library does not find a local rank
    std::string data;
    BATCHAI_MESSAGE(fence, id, status, broken, data);
};
// Up the tree: a rank has left PMIx and ended, so that fences must not wait for it.
struct Left {
    int rank = 0;
    BATCHAI_MESSAGE(left, rank);
};
// Agent to root: a rank of its node waits in PMIx for a rank that has left and ended.
struct MissingRank {
    int rank = 0;
    BATCHAI_MESSAGE(missing_rank, rank);
};
// Down the tree: the data of all, in consecutive pieces.
struct FenceDone {
    FenceId id;
    std::int32_t status = 0;
    std::uint64_t serial = 0;  // unique among the fences of the job
    std::string data;
    bool last = true;
    BATCHAI_MESSAGE(fence_done, id, status, serial, data, last);
};
// Root to agent: has the node given its data to this fence? Then the agent's answer.
struct FenceQuery {
    FenceId id;
    BATCHAI_MESSAGE(fence_query, id);
};
struct FenceAnswer {
    FenceId id;
    bool given = false;
    BATCHAI_MESSAGE(fence_answer, id, given);
};
// Agent to its parent in the tree: the first message on their connection.
struct TreeHello {
    int node = 0;
    BATCHAI_MESSAGE(tree_hello, node);
};

// An event that a rank has sent with PMIx_Notify_event. The root passes it on to the other agents.
struct Notification {
    std::int32_t code = 0;
    std::uint32_t source = 0;  // rank
    std::uint8_t range = 0;    // PMIx's
    std::string info;          // packed by the library
    BATCHAI_MESSAGE(notification, code, source, range, info);
};

// Asks for the data of one rank on behalf of node `origin`. The root passes the question and the
// answer on.
struct ModexRequest {
    int origin = 0;
    std::uint64_t id = 0;
    std::uint32_t rank = 0;
    BATCHAI_MESSAGE(modex_request, origin, id, rank);
};
struct ModexReply {
    int origin = 0;
    std::uint64_t id = 0;
    std::int32_t status = 0;
    std::string data;
    BATCHAI_MESSAGE(modex_reply, origin, id, status, data);
};

// One published item. The PMIx library has packed its value.
struct Item {
    std::uint32_t owner = 0;
    std::string key, value;
    BATCHAI_FIELDS(owner, key, value);
};
struct Publish {
    std::uint64_t id = 0;
    std::vector<Item> items;
    BATCHAI_MESSAGE(publish, id, items);
};
struct Lookup {
    std::uint64_t id = 0;
    std::vector<std::string> keys;
    bool wait = false;  // until all are published
    BATCHAI_MESSAGE(lookup, id, keys, wait);
};
struct Unpublish {
    std::uint64_t id = 0;
    std::uint32_t owner = 0;
    std::vector<std::string> keys;  // empty: all keys of the owner
    BATCHAI_MESSAGE(unpublish, id, owner, keys);
};
struct StoreReply {
    std::uint64_t id = 0;
    std::int32_t status = 0;
    std::vector<Item> items;
    BATCHAI_MESSAGE(store_reply, id, status, items);
};

namespace gloo {
// A rank's HTTP request to Horovod's Gloo server (launcher/gloo/key_values.hpp).
struct Request {
    std::string method, scope, key, body;
    BATCHAI_FIELDS(method, scope, key, body);
};
}  // namespace gloo
// The request of a rank that uses Horovod's own Gloo, and the whole answer. The agent chooses the
// id.
struct GlooRequest {
    std::uint64_t id = 0;
    gloo::Request request;
    BATCHAI_MESSAGE(gloo_request, id, request);
};
struct GlooReply {
    std::uint64_t id = 0;
    std::string text;
    BATCHAI_MESSAGE(gloo_reply, id, text);
};

}  // namespace batchai::launcher
