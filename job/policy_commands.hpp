// SPDX-License-Identifier: Apache-2.0
//
// Reads the tables of the site policy that name programs, [program.NAME] and [container.NAME], and
// [[image]], which names a container. Private to job/.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "job/policy.hpp"
#include "job/policy_table.hpp"

namespace batchai::job {

std::map<std::string, ProgramPolicy> read_programs(Table& root);
std::map<std::string, ProgramPolicy> read_containers(Table& root);

// containers: all containers of the policy.
ImagePolicy read_image(Table&, const std::map<std::string, ProgramPolicy>& containers);

}  // namespace batchai::job
