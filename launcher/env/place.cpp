// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launcher/env/env.hpp"
#include "sys/text.hpp"

namespace batchai::launcher::env {

Place place_in(const RankMap& map, int rank) {
    Place place;
    place.rank = rank;
    place.size = map.size();
    place.node = map.node_of(rank);
    place.nodes = map.used_nodes();
    place.node_name = map.nodes[place.node];
    place.local_rank = map.local_rank(rank);
    place.local_size = map.local_size(place.node);
    place.local_ranks = fmt::format("{}", fmt::join(map.ranks_on(place.node), ","));
    place.cyclic = !map.places.empty();
    std::vector<int> counts;
    for (int node = 0; node < place.nodes; ++node) {
        counts.push_back(map.local_size(node));
        if (place.local_rank >= counts.back()) continue;
        if (node < place.node) ++place.cross_rank;
        ++place.cross_size;
    }
    place.ranks_per_node = sys::counts_of(counts);
    if (place.nodes < static_cast<int>(map.nodes.size())) {
        const auto end = map.nodes.begin() + place.nodes;
        place.node_list = fmt::format("{}", fmt::join(map.nodes.begin(), end, ","));
    }
    return place;
}

}  // namespace batchai::launcher::env
