// SPDX-License-Identifier: Apache-2.0
//
// The service's documents have all keys of their model: what is not set is null.
#pragma once

#include <nlohmann/json.hpp>

namespace batchai::cli {

// The value with exactly the keys of the shape, at every level. A key that the value lacks is null,
// or what the shape says if that is a scalar. An array's only item is the shape of each item.
nlohmann::json shaped(const nlohmann::json& value, const nlohmann::json& shape);

// mountVolumes, of jobs and clusters.
const nlohmann::json& mount_volumes_shape();

}  // namespace batchai::cli
