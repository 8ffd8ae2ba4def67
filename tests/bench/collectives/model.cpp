// SPDX-License-Identifier: Apache-2.0
//
// What the planner expects allreduces of float32 sums to take between nodes, by the cost functions
// that it chooses by:
//
//   model NODES RAILS LATENCY OVERHEAD GBYTES BYTES...
//
// The rails of a node share its link. An empty message takes LATENCY microseconds to cross it, a
// further message OVERHEAD more, and it carries GBYTES 10^9 bytes a second each way. Prints for
// each size
//
//   BYTES MICROSECONDS ALGORITHM
//
// What happens inside the nodes is left out: it overlaps, and is short where links are slow.
#include <cstdio>
#include <cstdlib>

#include "batchai/collectives.h"
#include "collectives/algorithm/planner.hpp"
#include "collectives/common/chunking.hpp"

using namespace batchai::coll;

int main(int argc, char** argv) {
    if (argc < 7) {
        std::fprintf(stderr, "usage: model NODES RAILS LATENCY OVERHEAD GBYTES BYTES...\n");
        return 2;
    }
    const int nodes = std::atoi(argv[1]), rails = std::atoi(argv[2]);
    Link link;
    link.latency = std::atof(argv[3]) * 1e-6;
    link.overhead = std::atof(argv[4]) * 1e-6;
    link.per_byte = rails / (std::atof(argv[5]) * 1e9);
    const Planner planner(link, nodes, nullptr);
    const Reduction sum = reduction_of(BATCHAI_COLL_FLOAT32, BATCHAI_COLL_SUM);
    const std::size_t least = chunk_bytes(rails, 0, nodes * rails, false);
    const std::size_t most = chunk_bytes(rails, 0, nodes * rails, link.is_slow());
    for (int i = 6; i < argc; ++i) {
        const std::size_t bytes = std::strtoull(argv[i], nullptr, 10);
        const std::size_t chunk = chunk_of_message(bytes, least, most);
        const Load load{bytes / sum.element, chunk / sum.element, rails_for(bytes, rails)};
        const Algorithm& algorithm = planner.choose(sum, load);
        const double seconds = planner.predict(algorithm, sum, load);
        std::printf("%zu %.1f %s\n", bytes, seconds * 1e6, algorithm.name);
    }
    return 0;
}
