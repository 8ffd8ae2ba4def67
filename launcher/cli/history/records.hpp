// SPDX-License-Identifier: Apache-2.0
//
// Groups, workspaces and experiments: names and nothing more on premises.
#pragma once

#include "launcher/cli/history/history.hpp"
#include "launcher/cli/session.hpp"

namespace batchai::cli {

// Records group and workspace where they are new.
sys::Result<void> remember_workspace(History&, const Scope&);

// Records group, workspace and experiment where they are new.
sys::Result<void> remember_scope(History&, const Scope&);

}  // namespace batchai::cli
