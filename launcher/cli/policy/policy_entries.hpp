// SPDX-License-Identifier: Apache-2.0
//
// Entries of a site policy, as text to paste into it: what a job file needs, and what a refusal for
// want of an entry prints.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "job/policy.hpp"
#include "job/spec.hpp"

namespace batchai::cli {

// directory, run_on: what the entry says; empty: a placeholder to edit.
std::string volume_entry(const job::Volume&, const std::string& directory = {});
std::string image_entry(const std::string& image, const std::string& run_on = {});
std::string cluster_entry(const std::string& cluster);

// NAME=VALUE of --share and --image: what entries say in place of placeholders.
struct Assignments {
    std::map<std::string, std::string> shares;  // share, container, server, ...: the directory
    std::map<std::string, std::string> images;  // "host", or a container of the policy
};
// From the options' values; a directory is made absolute and must be there.
sys::Result<Assignments> read_assignments(const std::vector<std::string>& shares,
                                          const std::vector<std::string>& images);

// The entries that a job needs and the policy does not have, each once.
std::vector<std::string> missing_entries(const job::SitePolicy&, const job::JobSpec&,
                                         const Assignments& = {});
// The same for the text of a job file; none where it cannot be read.
std::vector<std::string> missing_entries(const job::SitePolicy&, const std::string& text);

// Those of a job that have an assignment, whatever a policy says.
std::vector<std::string> assigned_entries(const job::JobSpec&, const Assignments&);

// Prints them on stderr below a line that names the policy's file; nothing where there are none.
void print_missing_entries(const job::SitePolicy&, const std::vector<std::string>& entries);

}  // namespace batchai::cli
