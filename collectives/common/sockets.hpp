// SPDX-License-Identifier: Apache-2.0
//
// Sockets: gives UCX's TCP connections a timeout, which UCX does not set. Without it, a connection
// with data under way lasts for a quarter of an hour after the cable was cut, and its close waits
// for as long. Here connections get the node's limit soon after they were made, so that the kernel
// ends them in time. It also finds nodes that acknowledge no data on any device: the node, or the
// network to it, is gone.
//
// A connection is UCX's where one of its ends is a port that UCX listens on. A process that is
// stopped does not matter: its kernel acknowledges.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace batchai::coll {

// Where UCX listens: of this process, of its counterpart on another node.
struct Listeners {
    std::vector<std::string> addresses;
    std::vector<std::uint16_t> ports;
};

class Sockets {
  public:
    using Time = std::chrono::steady_clock::time_point;

    // others: by node. limit: 0: never.
    Sockets(std::vector<std::uint16_t> own, std::vector<Listeners> others,
            std::chrono::milliseconds limit);

    // A node that has acknowledged nothing for so long. Looks ten times in that time at most.
    std::optional<int> silent_node(Time now);
    void forgive() { stuck_.clear(); }

  private:
    struct Stuck {
        in_port_t port = 0;  // of this end: it is still the same connection
        Time since{};
    };
    std::optional<int> examine(int fd, Time now);

    std::vector<std::uint16_t> own_;
    std::vector<Listeners> others_;
    std::unordered_map<in_addr_t, int> nodes_;  // by address
    std::chrono::milliseconds limit_;
    Time look_at_{};
    std::unordered_map<int, Stuck> stuck_;  // by descriptor
};

// The TCP ports that this process listens on.
std::vector<std::uint16_t> listening_ports();
// The kernel gives up on a TCP connection when nothing has been acknowledged for so long.
void set_patience(int socket, std::chrono::milliseconds limit);

}  // namespace batchai::coll
