// SPDX-License-Identifier: Apache-2.0
//
// configure --defaults: the user's own default group, workspace and experiment, kept in
// <data directory>/defaults.json.
#pragma once

#include "cli/session.hpp"

namespace batchai::cli {

// What the user has configured; a name that is not configured is empty. The file is read once. A
// file that cannot be read counts as empty.
const Scope& configured_scope();

}  // namespace batchai::cli
