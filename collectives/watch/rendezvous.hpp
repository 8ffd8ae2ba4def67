// SPDX-License-Identifier: Apache-2.0
//
// Rendezvous: connects the watchdogs of neighbouring nodes, in init. Each node's first rank listens
// and publishes an invitation: its addresses and a secret. It connects to the next node, and the
// previous node connects to it. The caller sends the callee's secret, and gets back its own. A
// connection without the right secret is closed.
//
// With two nodes there is one connection; with one node there is none.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/common/topology.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::coll {

// The connection to the watchdog of another node.
struct Neighbour {
    int node;
    sys::UniqueFd fd;
};

using Secret = std::array<unsigned char, 16>;

struct Invitation {
    std::uint16_t port = 0;  // 0: the invitation only has the node's addresses
    Secret secret{};
    std::vector<std::string> addresses;  // empty: there is no invitation

    // Whether other nodes can use it. It has come from another process.
    bool is_valid() const;

    template <class Archive>
    void fields(Archive& archive) {
        archive(port, addresses);
        for (unsigned char& byte : secret) archive(byte);
    }
};

class Rendezvous {
  public:
    // Listens. addresses: of this host, at which other nodes may connect.
    static sys::Result<Rendezvous> open(std::vector<std::string> addresses);

    const Invitation& invitation() const { return invitation_; }
    // invitations: of the other nodes, by node; those without a port are skipped. An error: a
    // connection was not made within the limit.
    sys::Result<std::vector<Neighbour>> meet(const Roster& roster,
                                             const std::vector<Invitation>& invitations,
                                             std::chrono::milliseconds limit) const;

  private:
    Invitation invitation_;
    sys::UniqueFd listener_;
};

// The node to which a node connects, and the node that connects to it; -1: none.
int callee_of(int node, int nodes);
int caller_of(int node, int nodes);

}  // namespace batchai::coll
