// SPDX-License-Identifier: Apache-2.0
//
// Answering a fence or a direct modex: the library gets a copy of the data and lets go of it later.
#pragma once

#include <string>

#include "launcher/pmix/host.hpp"

namespace batchai::launcher::pmix {

void complete(const ModexAnswer& answer, pmix_status_t status, std::string data);

}  // namespace batchai::launcher::pmix
