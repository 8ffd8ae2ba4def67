// SPDX-License-Identifier: Apache-2.0
//
// Link: what messages between two nodes cost, by which algorithms are chosen (planner.hpp).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace batchai::coll {

class Wire;

struct Link {
    double latency = 20e-6;    // seconds until an empty message has arrived: a
    double per_byte = 0.4e-9;  // seconds more for each byte, with messages both ways: b
    double overhead = 3e-6;    // seconds that a node is busy sending one and receiving one: o

    double message(std::size_t bytes) const {
        return latency + overhead + static_cast<double>(bytes) * per_byte;
    }
    // Whether what a rail carries is far below what memory does.
    bool is_slow() const { return per_byte > 2e-9; }
};

// Measures with the node next door (0 and 1, 2 and 3, …), all pairs and rails at once: some
// milliseconds, tens of them over 1 Gbit/s. None where there is no such node, or it does not answer
// within two seconds. meet: is called once the connection is there, to wait for the node's other
// rails.
std::optional<Link> measure_link(Wire& wire, int node, int nodes,
                                 const std::function<void()>& meet);

}  // namespace batchai::coll
