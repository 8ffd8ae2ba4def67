// SPDX-License-Identifier: Apache-2.0
//
// The service's documents contain every key of their model; a key without a value is null.
#pragma once

#include <nlohmann/json.hpp>

namespace batchai::cli {

// The value with exactly the shape's keys, at every level. A missing key becomes null, or the
// shape's value if that is a scalar. The only item of an array in the shape applies to each item.
nlohmann::json shaped(const nlohmann::json& value, const nlohmann::json& shape);

// The shape of mountVolumes, of jobs and clusters.
const nlohmann::json& mount_volumes_shape();

}  // namespace batchai::cli
