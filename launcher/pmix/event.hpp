// SPDX-License-Identifier: Apache-2.0
//
// Events that one rank sends to others by PMIx_Notify_event.
#pragma once

#include <string>

#include "launcher/common/message_pmix.hpp"

namespace batchai::launcher::pmix {

// To those of this node's ranks that have asked for it.
void deliver(const std::string& nspace, const Notification& event);

}  // namespace batchai::launcher::pmix
