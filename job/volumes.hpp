// SPDX-License-Identifier: Apache-2.0
//
// Reads mountVolumes of a job file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job/account.hpp"
#include "job/reader.hpp"
#include "job/spec.hpp"

namespace batchai::job {

// The value of --storage-account-key.
inline constexpr std::string_view kKeyPlaceholder = "<AZURE_BATCHAI_STORAGE_KEY>";

// Reads all four kinds, in the file's order within each. Two volumes at one path are an error.
std::vector<Volume> read_volumes(Reader& properties);
// The same for mountVolumes of no file. An error: the first mistake in one.
sys::Result<std::vector<Volume>> read_volumes(Json mount_volumes);

// Fills in the values that a job file leaves to its user. The account replaces its placeholder. The
// key is the named account's or, if none is named, that of the only account of the volumes. It
// replaces its placeholder, and is the key of a volume of that account that has none. No other
// server gets the key.
void fill_in(std::vector<Volume>&, const std::string& account, const std::string& key);

}  // namespace batchai::job
