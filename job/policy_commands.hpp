// SPDX-License-Identifier: Apache-2.0
//
// The tables of the site policy that name programs to run, [program.NAME] and [container.NAME], and
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

// containers: those that the policy has.
ImagePolicy read_image(Table&, const std::map<std::string, ProgramPolicy>& containers);

}  // namespace batchai::job
