// SPDX-License-Identifier: Apache-2.0
//
// Reads mountVolumes of a job file. Private to job/.
#pragma once

#include <string_view>
#include <vector>

#include "job/reader.hpp"
#include "job/spec.hpp"

namespace batchai::job {

// What --storage-account-name and --storage-account-key fill in.
inline constexpr std::string_view kAccountPlaceholder = "<AZURE_BATCHAI_STORAGE_ACCOUNT>";
inline constexpr std::string_view kKeyPlaceholder = "<AZURE_BATCHAI_STORAGE_KEY>";

// All four kinds, in the file's order within each. Two volumes at one place are an error.
std::vector<Volume> read_volumes(Reader& properties);

}  // namespace batchai::job
