// SPDX-License-Identifier: Apache-2.0
//
// The storage account that a job file or a cluster's file leaves to its user.
#pragma once

#include <string>
#include <string_view>

namespace batchai::job {

// The value of --storage-account-name.
inline constexpr std::string_view kAccountPlaceholder = "<AZURE_BATCHAI_STORAGE_ACCOUNT>";

// Puts the account in its placeholder's place in a volume, a JSON object of either kind.
template <class Json>
void fill_in_account(Json& volume, const std::string& account) {
    for (const char* key : {"azureFileUrl", "accountName"}) {
        if (!volume.contains(key) || !volume[key].is_string()) continue;
        auto text = volume[key].template get<std::string>();
        const std::size_t at = text.find(kAccountPlaceholder);
        if (at != text.npos) volume[key] = text.replace(at, kAccountPlaceholder.size(), account);
    }
}

}  // namespace batchai::job
