// SPDX-License-Identifier: Apache-2.0
//
// The messages between root and agents for ranks that use PMIx or PMI-1 (fences, modex data,
// published values, events), and for ranks of Horovod's own Gloo.
#pragma once

#include "launcher/common/gloo_request.hpp"
#include "launcher/common/message.hpp"

namespace batchai::launcher {

// Whether any rank of the node is between PMIx_Init and PMIx_Finalize; sent when that changes.
struct Joined {
    static constexpr Kind kKind = Kind::joined;
    bool any = false;
    template <class A>
    void fields(A& a) {
        a(any);
    }
};

inline constexpr const char* kPmi1 = "PMI-1";
inline constexpr const char *kConstruct = "construct ",
                            *kDestruct = "destruct ";  // and a group's name

// Which fence: the number-th over these ranks for this purpose: kPmi1, making or ending one of
// PMIx's groups or connections, or nothing: a PMIx fence.
struct FenceId {
    std::string purpose;
    std::vector<std::uint32_t> procs;  // ranks that take part, sorted; one kAllRanks: all
    std::uint64_t number = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check stumbles over the compiler's own code
    auto operator<=>(const FenceId&) const = default;
    bool same_series(const FenceId& other) const {
        return purpose == other.purpose && procs == other.procs;
    }
    template <class A>
    void fields(A& a) {
        a(purpose, procs, number);
    }
};
// Up the tree: what a node, or a node with all below it, has to give.
struct Fence {
    static constexpr Kind kKind = Kind::fence;
    FenceId id;
    std::int32_t status = 0;
    std::vector<int> broken;  // nodes whose library misses a local rank
    std::string data;
    template <class A>
    void fields(A& a) {
        a(id, status, broken, data);
    }
};
// Up the tree: a rank below has left PMIx and ended, so that no fence waits for it any more.
struct Left {
    static constexpr Kind kKind = Kind::left;
    int rank = 0;
    template <class A>
    void fields(A& a) {
        a(rank);
    }
};
// An agent to the root: a rank of its node waits in PMIx for one that has left and ended.
struct MissingRank {
    static constexpr Kind kKind = Kind::missing_rank;
    int rank = 0;
    template <class A>
    void fields(A& a) {
        a(rank);
    }
};
// Down the tree: what all have given, in pieces that follow each other.
struct FenceDone {
    static constexpr Kind kKind = Kind::fence_done;
    FenceId id;
    std::int32_t status = 0;
    std::uint64_t serial = 0;  // no other fence of the job has it
    std::string data;
    bool last = true;
    template <class A>
    void fields(A& a) {
        a(id, status, serial, data, last);
    }
};
// Root to an agent: has your node given its part to this fence? And its answer.
struct FenceQuery {
    static constexpr Kind kKind = Kind::fence_query;
    FenceId id;
    template <class A>
    void fields(A& a) {
        a(id);
    }
};
struct FenceAnswer {
    static constexpr Kind kKind = Kind::fence_answer;
    FenceId id;
    bool given = false;
    template <class A>
    void fields(A& a) {
        a(id, given);
    }
};
// An agent to its parent in the tree, first on their connection.
struct TreeHello {
    static constexpr Kind kKind = Kind::tree_hello;
    int node = 0;
    template <class A>
    void fields(A& a) {
        a(node);
    }
};

// What a rank tells others, by PMIx_Notify_event; the root passes it on to the other agents.
struct Notification {
    static constexpr Kind kKind = Kind::notification;
    std::int32_t code = 0;
    std::uint32_t source = 0;  // rank
    std::uint8_t range = 0;    // PMIx's
    std::string info;          // packed by the library
    template <class A>
    void fields(A& a) {
        a(code, source, range, info);
    }
};

// The data of one rank, asked for by node `origin`; the root passes both messages on.
struct ModexRequest {
    static constexpr Kind kKind = Kind::modex_request;
    int origin = 0;
    std::uint64_t id = 0;
    std::uint32_t rank = 0;
    template <class A>
    void fields(A& a) {
        a(origin, id, rank);
    }
};
struct ModexReply {
    static constexpr Kind kKind = Kind::modex_reply;
    int origin = 0;
    std::uint64_t id = 0;
    std::int32_t status = 0;
    std::string data;
    template <class A>
    void fields(A& a) {
        a(origin, id, status, data);
    }
};

// One published item; value is packed by the PMIx library.
struct Item {
    std::uint32_t owner = 0;
    std::string key, value;
    template <class A>
    void fields(A& a) {
        a(owner, key, value);
    }
};
struct Publish {
    static constexpr Kind kKind = Kind::publish;
    std::uint64_t id = 0;
    std::vector<Item> items;
    template <class A>
    void fields(A& a) {
        a(id, items);
    }
};
struct Lookup {
    static constexpr Kind kKind = Kind::lookup;
    std::uint64_t id = 0;
    std::vector<std::string> keys;
    bool wait = false;  // until all are published
    template <class A>
    void fields(A& a) {
        a(id, keys, wait);
    }
};
struct Unpublish {
    static constexpr Kind kKind = Kind::unpublish;
    std::uint64_t id = 0;
    std::uint32_t owner = 0;
    std::vector<std::string> keys;  // empty: all of the owner's
    template <class A>
    void fields(A& a) {
        a(id, owner, keys);
    }
};
struct StoreReply {
    static constexpr Kind kKind = Kind::store_reply;
    std::uint64_t id = 0;
    std::int32_t status = 0;
    std::vector<Item> items;
    template <class A>
    void fields(A& a) {
        a(id, status, items);
    }
};

// What a rank of Horovod's own Gloo has asked of its agent over HTTP, and the whole answer. An id
// is the agent's own.
struct GlooRequest {
    static constexpr Kind kKind = Kind::gloo_request;
    std::uint64_t id = 0;
    gloo::Request request;
    template <class A>
    void fields(A& a) {
        a(id, request);
    }
};
struct GlooReply {
    static constexpr Kind kKind = Kind::gloo_reply;
    std::uint64_t id = 0;
    std::string text;
    template <class A>
    void fields(A& a) {
        a(id, text);
    }
};

}  // namespace batchai::launcher
