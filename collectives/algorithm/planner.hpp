// SPDX-License-Identifier: Apache-2.0
//
// Planner: chooses the algorithm that combines the nodes' partial results. It takes the algorithm
// with the least time for the whole message, by the formulas in the algorithms' headers and the
// cost of the links, measured when the communicator was made (link.hpp). All ranks have the same
// numbers and choose the same. Any choice gives the same bits, because the ring is never chosen.
//
// BATCHAI_COLL_ALGORITHM names an algorithm to take whatever it costs. Only so the ring is taken:
// its order of combining depends on the place of a number in the message.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "collectives/reduce/kernels.hpp"
#include "collectives/transport/link.hpp"
#include "sys/result.hpp"

namespace batchai::coll {

enum class Algorithm { recursive_doubling, halving_doubling, direct, ring };
inline constexpr std::array kAlgorithms = {
    Algorithm::recursive_doubling, Algorithm::halving_doubling, Algorithm::direct, Algorithm::ring};

const char* name_of(Algorithm algorithm);
// The algorithm that BATCHAI_COLL_ALGORITHM names, if it is set.
sys::Result<std::optional<Algorithm>> named_algorithm();

// Numbers that go between the nodes, in chunks that the rails share.
struct Load {
    std::size_t count = 0;
    std::size_t chunk = 0;  // numbers of a whole one
    int rails = 1;
    bool operator==(const Load&) const = default;
};

class Planner {
  public:
    Planner() = default;
    Planner(const Link& link, int nodes, std::optional<Algorithm> named)
        : link_(link), nodes_(nodes), named_(named) {}

    const Link& link() const { return link_; }
    Algorithm choose(const Reduction& reduction, const Load& load) const;
    // Seconds that the load takes: the first chunk's cost, and for each of the others, which follow
    // before it has arrived, the same without latencies.
    double predict(Algorithm algorithm, const Reduction& reduction, const Load& load) const;
    // The choice for float32 of every size, with the cost of the link: a line for each change.
    // least, most: as of chunk_of_message.
    std::string text(std::size_t least, std::size_t most, int rails) const;

  private:
    Link link_;
    int nodes_ = 1;
    std::optional<Algorithm> named_;
};

}  // namespace batchai::coll
