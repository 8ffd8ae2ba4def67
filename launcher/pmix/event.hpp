// SPDX-License-Identifier: Apache-2.0
//
// Events that a rank sends to other ranks with PMIx_Notify_event.
#pragma once

#include <string>

#include "launcher/common/message_pmix.hpp"

namespace batchai::launcher::pmix {

// Delivers the event to the ranks of this node that have registered for it.
void deliver(const std::string& nspace, const Notification& event);

}  // namespace batchai::launcher::pmix
