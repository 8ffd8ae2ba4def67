// SPDX-License-Identifier: Apache-2.0
//
// Groups, workspaces and experiments. On premises they are names only.
#pragma once

#include <functional>
#include <vector>

#include "cli/job/jobs.hpp"

namespace batchai::cli {

// Records the group and the workspace if they are new.
sys::Result<void> remember_workspace(History&, const Scope&);

// Records the group, the workspace and the experiment if they are new.
sys::Result<void> remember_scope(History&, const Scope&);

// Prints the recorded resources of a kind in the scope, then those of the site that have no record.
// document: null leaves a resource out.
int list_resources(const Session&, Store&, const Scope&, Resource::Kind,
                   const std::vector<Resource>& of_site,
                   const std::function<sys::Result<nlohmann::json>(const Resource&)>& document,
                   const TableMaker&);

}  // namespace batchai::cli
