// SPDX-License-Identifier: Apache-2.0
//
// Link: the measured cost of messages between two nodes. planner.hpp chooses algorithms by it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "sys/codec.hpp"

namespace batchai::coll {

class Wire;

struct Link {
    double latency = 20e-6;    // a: seconds until an empty message has arrived
    double per_byte = 0.4e-9;  // b: further seconds per byte, with messages in both directions
    double overhead = 3e-6;    // o: seconds of a node to send one message and receive one

    double message(std::size_t bytes) const {
        return latency + overhead + static_cast<double>(bytes) * per_byte;
    }
    // Whether a rail is much slower than memory.
    bool is_slow() const { return per_byte > 2e-9; }

    BATCHAI_FIELDS(latency, per_byte, overhead)
};

// Measures with the neighbour node (0 and 1, 2 and 3, …), all pairs and rails at once. It takes
// some milliseconds; over 1 Gbit/s tens of them. nullopt: there is no such node, or it does not
// answer within two seconds. measure_link calls `meet` once the connection exists, to wait for the
// node's other rails.
std::optional<Link> measure_link(Wire& wire, int node, int nodes,
                                 const std::function<void()>& meet);

}  // namespace batchai::coll
