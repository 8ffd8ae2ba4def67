// SPDX-License-Identifier: Apache-2.0
//
// Everything that can be said of a job file before it is submitted: `batchai job check`, `batchai
// job create` and the plugin's checker run exactly this.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "job/policy.hpp"
#include "job/spec.hpp"

namespace batchai::job {

struct CheckOptions {
    std::optional<std::string> storage_account;  // replaces <AZURE_BATCHAI_STORAGE_ACCOUNT>
    std::string storage_key;           // of shares and containers for which the file gives none
    std::optional<int> cluster_nodes;  // the largest nodeCount there is, where known
    // True when a path is a regular file on the login node; empty: paths are not looked at.
    std::function<bool(const std::string&)> file_exists;
    // True when a script that the job file names without a directory of the job is put there by its
    // name; empty: none is.
    std::function<bool(const std::string&)> is_brought;
    // True when nothing is at a path of the login node; empty: not looked at.
    std::function<bool(const std::string&)> is_missing;
    // Why the user cannot make directories in a path of the login node (sys::check_writable);
    // empty: not looked at. With an identity, the path of all its directories is looked at.
    std::function<sys::Result<void>(const std::string& base, const std::string& path)> writable;
    std::optional<sys::UserNames>
        user;                          // who submits; empty: who may use a secret is not looked at
    std::optional<Identity> identity;  // of a file that is no snapshot
};

// Parses text and holds it against the policy: unknown share or image, nodeCount over the cluster,
// standard output on no volume, are errors; so are, where the login node can see their shares, a
// script or a directory to mount that does not exist and an output directory that the user cannot
// make; what the site does differently (image, preparation) is a
// note. Findings point into the file.
ParsedJob check_job(const std::string& text, const std::string& file_name, const SitePolicy&,
                    const CheckOptions&);

}  // namespace batchai::job
