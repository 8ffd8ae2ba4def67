// SPDX-License-Identifier: Apache-2.0
//
// Planner: chooses the algorithm that combines the nodes' partial results. It takes the algorithm
// with the shortest predicted time for the whole message. The formulas are in the algorithms'
// headers; the cost of the links was measured when the communicator was made (link.hpp). All ranks
// have the same numbers, so they choose the same algorithm. Any choice gives the same bits.
// BATCHAI_COLL_ALGORITHM names an algorithm to use always.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "collectives/reduce/kernels.hpp"
#include "collectives/transport/link.hpp"
#include "sys/result.hpp"

namespace batchai::coll {

class Combining;

// A row of the table in planner.cpp.
struct Algorithm {
    const char* name;  // in BATCHAI_COLL_ALGORITHM and in the plan
    // Predicted seconds for one rail's part of one chunk.
    double (*cost)(const Link& link, int nodes, const Reduction& reduction, std::size_t count);
    // Bytes of scratch memory for data of `bytes`.
    std::size_t (*scratch_needed)(int nodes, std::size_t bytes);
    std::unique_ptr<Combining> (*make)();
};

// All algorithms. If several cost the same, the planner chooses the first of them.
std::span<const Algorithm> algorithms();
// Null: there is no algorithm of that name.
const Algorithm* algorithm_of(std::string_view name);
// The algorithm that BATCHAI_COLL_ALGORITHM names; null: it is not set.
sys::Result<const Algorithm*> named_algorithm();

// The numbers of one message, cut into chunks that the rails share.
struct Load {
    std::size_t count = 0;
    std::size_t chunk = 0;  // numbers of a full chunk
    int rails = 1;
    bool operator==(const Load&) const = default;
};

class Planner {
  public:
    Planner() = default;
    Planner(const Link& link, int nodes, const Algorithm* named)
        : link_(link), nodes_(nodes), named_(named) {}

    const Link& link() const { return link_; }
    const Algorithm& choose(const Reduction& reduction, const Load& load) const;
    // Predicted seconds for the load: the first chunk's full cost, and each later chunk's cost
    // without latencies. Later chunks start before the first has arrived.
    double predict(const Algorithm& algorithm, const Reduction& reduction, const Load& load) const;
    // The choice for float32 by message size, with the cost of the link; one line per change.
    // least, most: as in chunk_of_message.
    std::string text(std::size_t least, std::size_t most, int rails) const;

  private:
    Link link_;
    int nodes_ = 1;
    const Algorithm* named_ = nullptr;
};

}  // namespace batchai::coll
