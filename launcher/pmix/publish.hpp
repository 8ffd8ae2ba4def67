// SPDX-License-Identifier: Apache-2.0
//
// PMIx_Publish, PMIx_Lookup and PMIx_Unpublish (for example for MPI_Publish_name). The root keeps
// the values, packed.
#pragma once

#include <string>
#include <vector>

#include "launcher/pmix/host.hpp"

namespace batchai::launcher::pmix {

void complete(const LookupAnswer& answer, const std::string& nspace, pmix_status_t status,
              const std::vector<Item>& items);

}  // namespace batchai::launcher::pmix
