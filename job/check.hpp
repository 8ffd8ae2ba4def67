// SPDX-License-Identifier: Apache-2.0
//
// Checks a job file before its submission. `batchai job check`, `batchai job create` and the
// plugin's checker all run exactly this check.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/policy.hpp"
#include "job/spec.hpp"

namespace batchai::job {

struct CheckOptions {
    std::optional<std::string> storage_account;  // replaces <AZURE_BATCHAI_STORAGE_ACCOUNT>
    std::string storage_key;           // for shares and containers without a key in the file
    std::optional<int> cluster_nodes;  // largest possible nodeCount, if known
    // True if a path is a regular file on the login node. Empty: paths are not checked.
    std::function<bool(const std::string&)> file_exists;
    // True if a script that the job file names without a directory of the job will be found by its
    // name. Empty: none will be.
    std::function<bool(const std::string&)> is_brought;
    // True if nothing exists at a path of the login node. Empty: paths are not checked.
    std::function<bool(const std::string&)> is_missing;
    // The reason for which the user cannot make directories in a path of the login node
    // (sys::check_writable). Empty: paths are not checked. With an identity, the path of all its
    // directories is checked.
    std::function<sys::Result<void>(const std::string& base, const std::string& path)> writable;
    std::optional<sys::UserNames>
        user;  // the submitting user; empty: the users of a secret are not checked
    std::optional<Identity> identity;  // for a file that is not a snapshot
    std::vector<std::string> mounted;  // targets below the mount root that --batchai-mount adds
};

// Compares a job file with the policy, as its document is now. Beside those of parse_job, errors
// are an unknown share or image, a nodeCount above the cluster's, and standard output on no volume.
// If the login node can see the shares, there are more errors: a script or a directory to mount
// that does not exist, and an output directory that the user cannot make. A note names each thing
// that the site does differently (image, preparation). Findings have their place in the file.
ParsedJob check_job(ParsedJob, const SitePolicy&, const CheckOptions&);
// Parses the text first.
ParsedJob check_job(const std::string& text, const std::string& file_name, const SitePolicy&,
                    const CheckOptions&);

// Notes about job files that a user has read already. A note is the same at each submission, so a
// submission prints it once. `batchai job check` prints all of them, and does not call this.

// Removes the notes that an earlier call has left, and remembers those that it leaves, in <data
// directory>/notes. If that file cannot be read or written, a note is printed again: there is no
// error. Call as the user, just before the findings are printed.
void leave_out_known_notes(std::vector<Finding>&);

}  // namespace batchai::job
