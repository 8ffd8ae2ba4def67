// SPDX-License-Identifier: Apache-2.0
//
// Slurm's notation for the nodes of a job and for a number on each of them, both ways. Lists keep
// their order. Pure.
#pragma once

#include <string>
#include <vector>

namespace batchai::launcher {

// "n[1-3,07],gpu" -> n1 n2 n3 n07 gpu. Nothing of more than a million names.
std::vector<std::string> expand_hostlist(const std::string& list);
// The shortest such list with one pair of brackets a name: n1 n2 n3 gpu -> "n[1-3],gpu". For names
// without brackets and commas.
std::string hostlist_of(const std::vector<std::string>& names);

// "2(x3),1" -> 2 2 2 1; empty if it has another form.
std::vector<int> expand_counts(const std::string& list);
// Of numbers that are not negative.
std::string counts_of(const std::vector<int>& counts);

}  // namespace batchai::launcher
