// SPDX-License-Identifier: Apache-2.0
//
// Branch: an agent's place in the tree that carries fences (launcher/common/tree.hpp). It joins the
// data of its children and its own ranks for a fence and passes it to its parent. It passes the
// result back to its children. Children connect to their parent.
//
// It does not watch the other agents: the root does. It only reports when its parent's connection
// ends while the agent lives on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launcher/agent/events.hpp"
#include "launcher/common/bootstrap.hpp"
#include "launcher/common/channel.hpp"
#include "launcher/common/door.hpp"
#include "launcher/common/fence_table.hpp"

namespace batchai::launcher {

class Branch {
  public:
    // bootstrap, root and events must outlive this object.
    Branch(Loop& loop, const Bootstrap& bootstrap, TlsKey key, Channel& root, AgentEvents& events);

    // Listens for its children at this address of the node. Returns the port; 0: it has no
    // children.
    sys::Result<int> listen(const std::string& address);
    // Connects to the parent. Call it before the first fence. An empty address: the parent is the
    // root.
    void connect(const RankMap& map, const std::string& address, int port);

    // The launch has more ranks, or fewer again.
    void set_map(const RankMap& map) { map_ = map; }

    // Adds this node's contribution to its next fence over these ranks; returns that fence's id.
    FenceId give(Fence contribution);
    bool has_given(const FenceId& id) const;
    // A rank of this node has left PMIx and ended.
    void leave(Left left);
    // A part of a fence's result, from the root if that is the parent.
    void on_done(FenceDone piece);

  private:
    struct Child {
        std::unique_ptr<Channel> channel;
        int node = -1;  // -1: it has not sent its hello
    };
    void admit(Link link);
    void on_hello(Child& child, Reader& reader);
    void add(int from, Fence contribution);
    template <class Message>
    void pass_on(const Message& message);

    Loop& loop_;
    const Bootstrap& bootstrap_;
    const TlsKey key_;
    Channel& root_;
    AgentEvents& events_;
    RankMap map_;
    std::unique_ptr<Door> door_;  // null once all children are connected
    std::vector<std::unique_ptr<Child>> children_;
    std::unique_ptr<Channel> parent_;  // null: the parent is the root
    FenceTable fences_;
    std::map<FenceId, std::uint64_t> given_;  // fences given per series (an id whose number is 0)
    std::string incoming_;                    // the parts of one fence's result so far
};

}  // namespace batchai::launcher
