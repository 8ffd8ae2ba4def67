// SPDX-License-Identifier: Apache-2.0
//
// Reads mountVolumes of a job file, and fills in what the file leaves to its user.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job/reader.hpp"
#include "job/spec.hpp"

namespace batchai::job {

// The values of --storage-account-name and --storage-account-key.
inline constexpr std::string_view kAccountPlaceholder = "<AZURE_BATCHAI_STORAGE_ACCOUNT>";
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

// Puts the account in its placeholder's place in a volume, a JSON object of either kind.
template <class AnyJson>
void fill_in_account(AnyJson& volume, const std::string& account) {
    for (const char* key : {"azureFileUrl", "accountName"}) {
        if (!volume.contains(key) || !volume[key].is_string()) continue;
        auto text = volume[key].template get<std::string>();
        const std::size_t at = text.find(kAccountPlaceholder);
        if (at != text.npos) volume[key] = text.replace(at, kAccountPlaceholder.size(), account);
    }
}

}  // namespace batchai::job
