// SPDX-License-Identifier: Apache-2.0
//
// The messages between root and agents for ranks that use PMIx or PMI-1 (fences, modex data,
// published values, events), and for ranks of Horovod's own Gloo.
#pragma once

#include "launcher/common/message.hpp"

namespace batchai::launcher {

// Whether a rank of the node is between PMIx_Init and PMIx_Finalize. Sent when that changes.
struct Joined {
    static constexpr Kind kKind = Kind::joined;
    bool any = false;
    BATCHAI_FIELDS(any);
};

inline constexpr const char* kPmi1 = "PMI-1";
inline constexpr const char *kConstruct = "construct ",
                            *kDestruct = "destruct ";  // and a group's name

// Identifies a fence: its number among the fences over the same ranks for the same purpose. The
// purpose is kPmi1, making or ending a PMIx group or connection, or empty for a plain PMIx fence.
struct FenceId {
    std::string purpose;
    std::vector<std::uint32_t> procs;  // the ranks that take part, sorted, or one kAllRanks
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
    static constexpr Kind kKind = Kind::fence;
    FenceId id;
    std::int32_t status = 0;
    std::vector<int> broken;  // nodes whose library does not find a local rank
    std::string data;
    BATCHAI_FIELDS(id, status, broken, data);
};
// Up the tree: a rank has left PMIx and ended, so that fences must not wait for it.
struct Left {
    static constexpr Kind kKind = Kind::left;
    int rank = 0;
    BATCHAI_FIELDS(rank);
};
// Agent to root: a rank of its node waits in PMIx for a rank that has left and ended.
struct MissingRank {
    static constexpr Kind kKind = Kind::missing_rank;
    int rank = 0;
    BATCHAI_FIELDS(rank);
};
// Down the tree: the data of all, in consecutive pieces.
struct FenceDone {
    static constexpr Kind kKind = Kind::fence_done;
    FenceId id;
    std::int32_t status = 0;
    std::uint64_t serial = 0;  // unique among the fences of the job
    std::string data;
    bool last = true;
    BATCHAI_FIELDS(id, status, serial, data, last);
};
// Root to agent: has the node given its data to this fence? Then the agent's answer.
struct FenceQuery {
    static constexpr Kind kKind = Kind::fence_query;
    FenceId id;
    BATCHAI_FIELDS(id);
};
struct FenceAnswer {
    static constexpr Kind kKind = Kind::fence_answer;
    FenceId id;
    bool given = false;
    BATCHAI_FIELDS(id, given);
};
// Agent to its parent in the tree: the first message on their connection.
struct TreeHello {
    static constexpr Kind kKind = Kind::tree_hello;
    int node = 0;
    BATCHAI_FIELDS(node);
};

// An event that a rank has sent with PMIx_Notify_event. The root passes it on to the other agents.
struct Notification {
    static constexpr Kind kKind = Kind::notification;
    std::int32_t code = 0;
    std::uint32_t source = 0;  // rank
    std::uint8_t range = 0;    // PMIx's
    std::string info;          // packed by the library
    BATCHAI_FIELDS(code, source, range, info);
};

// Asks for the data of one rank on behalf of node `origin`. The root passes the question and the
// answer on.
struct ModexRequest {
    static constexpr Kind kKind = Kind::modex_request;
    int origin = 0;
    std::uint64_t id = 0;
    std::uint32_t rank = 0;
    BATCHAI_FIELDS(origin, id, rank);
};
struct ModexReply {
    static constexpr Kind kKind = Kind::modex_reply;
    int origin = 0;
    std::uint64_t id = 0;
    std::int32_t status = 0;
    std::string data;
    BATCHAI_FIELDS(origin, id, status, data);
};

// One published item. The PMIx library has packed its value.
struct Item {
    std::uint32_t owner = 0;
    std::string key, value;
    BATCHAI_FIELDS(owner, key, value);
};
struct Publish {
    static constexpr Kind kKind = Kind::publish;
    std::uint64_t id = 0;
    std::vector<Item> items;
    BATCHAI_FIELDS(id, items);
};
struct Lookup {
    static constexpr Kind kKind = Kind::lookup;
    std::uint64_t id = 0;
    std::vector<std::string> keys;
    bool wait = false;  // until all are published
    BATCHAI_FIELDS(id, keys, wait);
};
struct Unpublish {
    static constexpr Kind kKind = Kind::unpublish;
    std::uint64_t id = 0;
    std::uint32_t owner = 0;
    std::vector<std::string> keys;  // empty: all keys of the owner
    BATCHAI_FIELDS(id, owner, keys);
};
struct StoreReply {
    static constexpr Kind kKind = Kind::store_reply;
    std::uint64_t id = 0;
    std::int32_t status = 0;
    std::vector<Item> items;
    BATCHAI_FIELDS(id, status, items);
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
    static constexpr Kind kKind = Kind::gloo_request;
    std::uint64_t id = 0;
    gloo::Request request;
    BATCHAI_FIELDS(id, request);
};
struct GlooReply {
    static constexpr Kind kKind = Kind::gloo_reply;
    std::uint64_t id = 0;
    std::string text;
    BATCHAI_FIELDS(id, text);
};

}  // namespace batchai::launcher
