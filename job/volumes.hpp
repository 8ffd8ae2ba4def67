// SPDX-License-Identifier: Apache-2.0
//
// Reads mountVolumes of a job file. Private to job/.
#pragma once

#include <string>
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

// What a job file leaves to its user. The account takes its placeholder's place. The key is the
// account's, or, if none is named, that of the only account of the volumes; it goes where its
// placeholder stands and where a volume of that account has none. No other server gets to see it.
void fill_in(std::vector<Volume>&, const std::string& account, const std::string& key);

}  // namespace batchai::job
