// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace batchai::spank {

// The number of nodes in the cluster, from sinfo. nullopt: sinfo does not answer in a few seconds.
std::optional<int> count_cluster_nodes();

}  // namespace batchai::spank
