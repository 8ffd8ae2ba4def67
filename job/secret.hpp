// SPDX-License-Identifier: Apache-2.0
//
// Secrets of a key vault that a job file refers to. Here each secret is a file, which the site
// policy names in [[secret]]. Private to job/, except resolve_secret and may_use (policy.hpp).
#pragma once

#include <optional>
#include <string>

#include "job/reader.hpp"
#include "job/spec.hpp"

namespace batchai::job {

// Reads {"sourceVault": {"id": ".../vaults/NAME"}, "secretUrl": "https://..."} at a key. nullopt:
// the key is missing.
std::optional<SecretReference> read_secret_reference(Reader&, const std::string& key);

// "secret 'https://v.vault.azure.net/secrets/key' of vault 'v'".
std::string describe(const SecretReference&);

}  // namespace batchai::job
