// SPDX-License-Identifier: Apache-2.0
//
// Sockets: gives UCX's TCP connections a timeout, which UCX does not set. Without it, a connection
// with unacknowledged data lasts for a quarter of an hour after the cable was cut, and closing it
// waits as long. With it, connections get the node limit soon after they were made, and the kernel
// ends them in time. Sockets also finds nodes that acknowledge no data on any device: the node, or
// the network to it, is gone.
//
// A connection is UCX's if one of its ends is a port that UCX listens on. A stopped process does
// not matter, because its kernel acknowledges data.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace batchai::coll {

// The addresses and ports at which UCX of the counterpart on another node listens.
struct Listeners {
    std::vector<std::string> addresses;
    std::vector<std::uint16_t> ports;
};

class Sockets {
  public:
    using Time = std::chrono::steady_clock::time_point;

    // own: this process's ports. others: by node. limit: 0: never.
    Sockets(std::vector<std::uint16_t> own, std::vector<Listeners> others,
            std::chrono::milliseconds limit);

    // A node that has acknowledged nothing for almost the limit. It checks at most ten times per
    // limit.
    std::optional<int> silent_node(Time now);
    void forgive() { stuck_.clear(); }

  private:
    struct Stuck {
        in_port_t port = 0;  // this end's port, to recognize the same connection
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
// Makes the kernel end a TCP connection on which nothing was acknowledged for `limit`.
void set_patience(int socket, std::chrono::milliseconds limit);

}  // namespace batchai::coll
