// SPDX-License-Identifier: Apache-2.0
//
// Direct modex: a rank asks for another rank's data that no fence has carried.
#pragma once

#include <functional>
#include <string>

#include "launcher/pmix/box.hpp"
#include "launcher/pmix/host.hpp"

namespace batchai::launcher::pmix {

// Asks this node's library for the data of a local rank. `answer` is called on the loop's thread
// when the rank has committed its data, which may be much later.
void request_modex(Box& box, const std::string& nspace, std::uint32_t rank,
                   std::function<void(pmix_status_t, std::string data)> answer);

}  // namespace batchai::launcher::pmix
