// SPDX-License-Identifier: Apache-2.0
//
// Slurm's notation for the nodes of a job, both ways. Lists keep their order. Pure. sys/text.hpp
// has its notation for a number on each node.
#pragma once

#include <string>
#include <vector>

namespace batchai::slurm {

// "n[1-3,07],gpu" -> n1 n2 n3 n07 gpu. Nothing of more than 65,536 names, or
// of brackets that are not a pair around numbers.
std::vector<std::string> expand_hostlist(const std::string& list);
// The shortest such list with one pair of brackets a name: n1 n2 n3 gpu -> "n[1-3],gpu". For names
// without brackets and commas.
std::string hostlist_of(const std::vector<std::string>& names);

}  // namespace batchai::slurm
