// SPDX-License-Identifier: Apache-2.0
//
// Direct modex: a rank asks for data that another rank has put and that no fence has carried.
#pragma once

#include <functional>
#include <string>

#include "launcher/pmix/box.hpp"
#include "launcher/pmix/host.hpp"

namespace batchai::launcher::pmix {

// Asks this node's library for the data of a local rank; answer is called on the loop's thread,
// possibly much later: the library waits until the rank has committed.
void request_modex(Box& box, const std::string& nspace, std::uint32_t rank,
                   std::function<void(pmix_status_t, std::string data)> answer);

}  // namespace batchai::launcher::pmix
