// SPDX-License-Identifier: Apache-2.0
//
// Reads mountVolumes of a job file. Private to job/.
#pragma once

#include <vector>

#include "job/reader.hpp"
#include "job/spec.hpp"

namespace batchai::job {

// All four kinds, in the file's order within each. Two volumes at one place are an error.
std::vector<Volume> read_volumes(Reader& properties);

}  // namespace batchai::job
