// SPDX-License-Identifier: Apache-2.0
//
// From a job file and a command line to a checked job with its snapshot: what `job create` and
// `job run` do before anything runs.
#pragma once

#include <optional>
#include <string>

#include "job/check.hpp"
#include "launcher/cli/cluster/mounts.hpp"
#include "launcher/cli/job/jobs.hpp"
#include "launcher/cli/session.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

// What fills in a file's placeholders.
struct StorageAccount {
    std::string name;
    std::string key;
};
void add_storage_options(CLI::App&, StorageAccount&);

// The options that say which file and under what name.
struct JobInput {
    Scope scope;
    std::string name;
    std::string cluster;
    std::string config_file;
    StorageAccount storage;
    MountOptions mounts;
    bool brings_scripts = false;  // those beside the file are found by their names
    nlohmann::json volumes;       // besides the file's own; null: none

    job::Identity identity() const;
};
// -f may still be left out: the verb says so.
void add_job_input(CLI::App&, JobInput&);

// A job file that passed job::check_job.
struct CheckedJob {
    std::string text;
    job::JobSpec spec;
};

// The site policy, wherever it is in force.
sys::Result<job::SitePolicy> load_site_policy();

// The policy that `job run --local --share` made for a job, in its record.
std::string job_policy_file(const Store&, const std::string& uuid);
// That one where it is there, else the site's.
sys::Result<job::SitePolicy> load_job_policy(const Store&, const JobRow&);

// Reads and checks; prints every finding, a line each. Nothing: an error was among them.
std::optional<CheckedJob> check_input(const JobInput&, const job::SitePolicy&,
                                      std::optional<int> cluster_nodes);

// check_job as every verb here asks for it: paths are looked at from this machine. identity: the
// job's, where it has one. brings_scripts: JobInput's.
job::ParsedJob check_text(const std::string& text, const std::string& file, const job::SitePolicy&,
                          const StorageAccount&, std::optional<int> cluster_nodes,
                          std::optional<job::Identity> identity, bool brings_scripts = false);

// A job that has its name, its row in the history and its snapshot.
struct NewJob {
    JobRow row;
    sys::UniqueFd alive;  // lock_record, from before the row was there to be seen
};

// Groups, workspaces and experiments that are new are recorded. On failure nothing is left.
sys::Result<NewJob> take_name(Store&, const JobInput&, const CheckedJob&, bool local);

// Undoes take_name.
void give_up(Store&, const JobRow&);

}  // namespace batchai::cli
