// SPDX-License-Identifier: Apache-2.0
//
// Planner: which algorithm combines the nodes' partial results of a chunk. It takes the one that
// costs least by the formula in its header, with what the links were measured to cost when the
// communicator was made (link.hpp). All ranks have the same numbers and choose the same, and all
// algorithms but the ring give the same bits, so the choice can be any.
//
// BATCHAI_COLL_ALGORITHM names one that is to be taken whatever it costs; the ring only so, as its
// order of combining depends on the number's place in the message.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "collectives/link.hpp"
#include "collectives/reduce/kernels.hpp"
#include "sys/result.hpp"

namespace batchai::coll {

enum class Algorithm { recursive_doubling, halving_doubling, direct, ring };
inline constexpr std::array kAlgorithms = {
    Algorithm::recursive_doubling, Algorithm::halving_doubling, Algorithm::direct, Algorithm::ring};

const char* name_of(Algorithm algorithm);
// The algorithm that BATCHAI_COLL_ALGORITHM names, if it is set.
sys::Result<std::optional<Algorithm>> named_algorithm();

class Planner {
  public:
    Planner() = default;
    Planner(const Link& link, int nodes, std::optional<Algorithm> named)
        : link_(link), nodes_(nodes), named_(named) {}

    const Link& link() const { return link_; }
    bool named() const { return named_.has_value(); }
    // For `count` numbers of a node on one rail.
    Algorithm choose(const Reduction& reduction, std::size_t count) const;
    // Seconds.
    double cost(Algorithm algorithm, const Reduction& reduction, std::size_t count) const;
    // Seconds that an allreduce of `count` numbers takes between the nodes, whose ranks share it on
    // so many rails, in chunks that follow each other: the first one's cost, and for the others
    // what their bytes take.
    double predict(const Reduction& reduction, std::size_t count, std::size_t chunk,
                   int rails) const;
    // The choice for messages of float32 of every size up to `most` bytes on a rail, with what the
    // link costs: a line for each change.
    std::string text(std::size_t most) const;

  private:
    Link link_;
    int nodes_ = 1;
    std::optional<Algorithm> named_;
};

}  // namespace batchai::coll
