// SPDX-License-Identifier: Apache-2.0
//
// Text of site policy entries, to paste into the policy: the entries that a job file needs, and the
// entry that is missing when a volume is refused.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "job/policy.hpp"
#include "job/spec.hpp"

namespace batchai::cli {

// directory, run_on: the values of the entry; empty: a placeholder for the admin to edit.
std::string volume_entry(const job::Volume&, const std::string& directory = {});
std::string image_entry(const std::string& image, const std::string& run_on = {});
std::string cluster_entry(const std::string& cluster);

// --share NAME=VALUE and --image NAME=VALUE: values for entries, in place of placeholders.
struct Assignments {
    std::map<std::string, std::string> shares;  // share, container, server, ...: its directory
    std::map<std::string, std::string> images;  // image: "host", or a container of the policy
};
// From the values of the options. A directory must exist and is made absolute.
sys::Result<Assignments> read_assignments(const std::vector<std::string>& shares,
                                          const std::vector<std::string>& images);

// The entries that a job needs and that the policy does not have, without duplicates.
std::vector<std::string> missing_entries(const job::SitePolicy&, const job::JobSpec&,
                                         const Assignments& = {});
// The same for a job file that the policy refuses; none if the file has mistakes of its own.
std::vector<std::string> missing_entries(const job::SitePolicy&, const job::ParsedJob&);

// The entries of a job that have an assignment, also those that a policy has.
std::vector<std::string> assigned_entries(const job::JobSpec&, const Assignments&);

// Prints the entries on stderr, below a line that names the policy's file; nothing if there are
// none.
void print_missing_entries(const job::SitePolicy&, const std::vector<std::string>& entries);

}  // namespace batchai::cli
