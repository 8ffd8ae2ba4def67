// SPDX-License-Identifier: Apache-2.0
//
// Nodes: the nodes of the job, and the root's connection to the agent of each. Until all agents
// have connected and prepared their node, it shows the progress, and names the nodes that are late.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/common/channel.hpp"
#include "launcher/common/door.hpp"
#include "launcher/common/terminal.hpp"
#include "launcher/root/events.hpp"

namespace batchai::launcher {

struct Node {
    std::string name;
    Channel* channel = nullptr;  // null: its agent has not connected
    Hello hello;
    double offset = 0;  // the root's clock minus the agent's
    std::optional<Prepared> prepared;
    bool done = false;  // all its ranks have ended, or its agent is lost
    bool lost = false;
};

class Nodes {
  public:
    Nodes(Loop& loop, const std::vector<std::string>& names, int radix, RootEvents& events);

    // Opens the ports for the agents, and begins to wait for them.
    sys::Result<void> open(std::vector<Listener> listeners, const std::string& key);
    // Closes the ports, and connections without Hello.
    void close_door();
    // No more progress is shown.
    void stop_progress();
    // A node that is silent for a minute counts as lost.
    void limit_start() { limited_ = true; }

    int size() const { return static_cast<int>(nodes_.size()); }
    Node& operator[](int node) { return nodes_[node]; }
    const Node& operator[](int node) const { return nodes_[node]; }
    auto begin() const { return nodes_.begin(); }
    auto end() const { return nodes_.end(); }
    Tree tree() const { return {size(), radix_}; }

    int connected() const { return connected_; }
    bool all_prepared() const;
    bool all_done() const;
    bool all_gone() const;  // every connection is closed
    // "n1 n2 and 3 more"
    std::string names(const std::vector<int>& nodes) const;

    void send(int node, const Frame& frame) { nodes_[node].channel->send(frame); }
    template <class Message>
    void send(int node, const Message& message) {
        send(node, frame(message));
    }
    // To all that have connected.
    template <class Message>
    void send_all(const Message& message) {
        const Frame whole = frame(message);
        for (const Node& node : nodes_)
            if (node.channel != nullptr) node.channel->send(whole);
    }

  private:
    // A connection to a process of the job. node is -1 until a valid Hello arrives.
    struct Peer {
        std::unique_ptr<Channel> channel;
        int node = -1;
    };
    void admit(Link link);
    void on_hello(Peer& peer, Reader& reader);
    void show_progress();
    void on_stall();

    Loop& loop_;
    const int radix_;
    RootEvents& events_;
    std::optional<TlsKey> key_;
    std::unique_ptr<Door> door_;  // open until all agents have connected
    std::vector<std::unique_ptr<Peer>> peers_;
    std::vector<Node> nodes_;
    int connected_ = 0;
    Timer stall_, progress_;
    StatusLine status_;
    bool limited_ = false;
    int stalls_ = 0;
};

}  // namespace batchai::launcher
