// SPDX-License-Identifier: Apache-2.0
//
// PMIx_Publish, PMIx_Lookup and PMIx_Unpublish (MPI_Publish_name and friends). The values are kept
// by the root, packed.
#pragma once

#include <string>
#include <vector>

#include "launcher/pmix/host.hpp"

namespace batchai::launcher::pmix {

void complete(const LookupAnswer& answer, const std::string& nspace, pmix_status_t status,
              const std::vector<Item>& items);

}  // namespace batchai::launcher::pmix
