// SPDX-License-Identifier: Apache-2.0
//
// From a job file and a command line to a checked job with a snapshot. `job create` and `job run`
// do this before they start anything.
#pragma once

#include <optional>
#include <string>

#include "cli/job/jobs.hpp"
#include "cli/job/mounts.hpp"
#include "cli/session.hpp"
#include "job/check.hpp"
#include "sys/file_lock.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

// Values for the placeholders of a job file.
struct StorageAccount {
    std::string name;
    std::string key;
};
void add_storage_options(CLI::App&, StorageAccount&);

// The options that name the job file and the job.
struct JobInput {
    Scope scope;
    std::string name;
    std::string cluster;
    Scope cluster_scope = {"", "", ""};  // empty: the job's
    std::string config_file;
    StorageAccount storage;
    MountOptions mounts;
    bool brings_scripts = false;  // scripts beside the job file are found by their names alone
    nlohmann::json volumes;       // volumes to add to the file's own; null: none
    job::LaunchOptions launch;    // of batchai-launch

    job::Identity identity() const;
};
// -f is not required here: the verb checks it.
void add_job_input(CLI::App&, JobInput&);

// Options of batchai-launch. Without a queue, those about requeues are left out.
void add_launch_options(CLI::App&, job::LaunchOptions&, bool has_queue);
// Adds those of the site policy that the user has not given. may_requeue: Slurm may requeue the
// job.
sys::Result<void> complete_launch(job::LaunchOptions&, const job::SitePolicy&, bool may_requeue);

// A job file that passed job::check_job: it has a spec.
struct CheckedJob {
    job::ParsedJob file;
    job::JobSpec& spec() { return *file.spec; }
    const job::JobSpec& spec() const { return *file.spec; }
};

// The site policy, from the place that job::default_policy_file() names.
sys::Result<job::SitePolicy> load_site_policy();

// The policy that `job run --local --share` has written into a job's record.
std::string job_policy_file(const Store&, const std::string& uuid);
// The policy in the job's record if there is one, or else the site's.
sys::Result<job::SitePolicy> load_job_policy(const Store&, const JobRow&);

// Parses the job file. It is read and parsed once: all later steps take its document.
sys::Result<job::ParsedJob> read_job_file(const std::string& file);

// Adds the volumes of the options and of the cluster to the job file's document, checks it, and
// prints each finding on a line. Nothing: there was an error.
std::optional<CheckedJob> check_input(job::ParsedJob, const JobInput&, const job::SitePolicy&,
                                      std::optional<int> cluster_nodes);

// Calls check_job for this machine, so that paths are checked here. identity: the job's, if it has
// one. brings_scripts: see JobInput.
job::ParsedJob check_file(job::ParsedJob, const std::string& file, const job::SitePolicy&,
                          const StorageAccount&, std::optional<int> cluster_nodes,
                          std::optional<job::Identity> identity, bool brings_scripts = false);

// A job with its name, its row in the history and its snapshot.
struct NewJob {
    JobRow row;
    sys::FileLock lock;  // of Store::lock; of a local job only
};

// If it fails, it leaves nothing behind.
sys::Result<NewJob> take_name(Store&, const JobInput&, const CheckedJob&, bool local);

// Undoes take_name.
void give_up(Store&, NewJob);

}  // namespace batchai::cli
