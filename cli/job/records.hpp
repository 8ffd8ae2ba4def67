// SPDX-License-Identifier: Apache-2.0
//
// Groups, workspaces and experiments. On premises they are names only.
#pragma once

#include "cli/history/history.hpp"
#include "cli/session.hpp"

namespace batchai::cli {

// Records the group and the workspace if they are new.
sys::Result<void> remember_workspace(History&, const Scope&);

// Records the group, the workspace and the experiment if they are new.
sys::Result<void> remember_scope(History&, const Scope&);

}  // namespace batchai::cli
