// SPDX-License-Identifier: Apache-2.0
//
// What the user created with batchai: groups, workspaces, experiments, clusters, accounts, shares
// and jobs, in <data directory>/history.db. It holds names only. If the file is deleted, no job and
// no output file is lost, and jobs that have a record directory come back (jobs.hpp).
//
// The journal is a rollback journal, not WAL: homes are on NFS, and WAL needs memory that all
// clients share. The journal's file stays (PERSIST). A client that remembers that it is missing
// would read what a killed writer on another machine has left half written. Several processes may
// use the file at once. A writer locks it for milliseconds, and the others wait. Over NFS this is
// as safe as the server's fcntl locks. Without any locks it is not opened.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "cli/history/execution.hpp"
#include "cli/history/sqlite.hpp"
#include "job/number.hpp"
#include "job/spec.hpp"
#include "sys/result.hpp"

namespace batchai::cli {

// A named thing that is not a job. Groups and storage accounts have no workspace.
struct Resource {
    enum class Kind { group, workspace, experiment, cluster, account, file_server };
    Kind kind = Kind::group;
    std::string resource_group;
    std::string workspace;
    std::string name;
    nlohmann::json document;  // what `show` adds: location, vmSize, …
};

const char* kind_name(Resource::Kind);

// What `job list` and `job show` print about an ended job, so that they read no file for it.
struct KeptJob {
    std::string tool;      // toolType
    int nodes = 0;         // nodeCount
    std::string document;  // the JSON of `job show`; empty: left out by JobFilter::documents
};

struct JobRow {
    job::Identity identity;
    job::Number number;  // none: not submitted yet, or a local job
    bool local = false;  // started by `job run --local`
    double created = 0;
    bool terminating = false;          // the user asked for its end
    bool deleting = false;             // the user asked for its end and for its removal
    std::optional<Execution> outcome;  // once the job has ended
    std::optional<KeptJob> kept;       // set with outcome; older releases of batchai did not set it
};

// The name of a job, and "NAME/3" for a task of an array: the form that commands print and take.
std::string shown_name(const job::Identity&, const job::Number&);
inline std::string shown_name(const JobRow& row) {
    return shown_name(row.identity, row.number);
}
// The uuid that all tasks of an array share: without the task's index at its end. The row's own
// uuid if the row is not a task.
std::string whole_uuid(const JobRow&);

// Which jobs. An empty field matches all.
struct JobFilter {
    std::string resource_group;
    std::string workspace;
    std::string experiment;
    std::string name;
    // The uuid of a job or of an array, or a number: a job's own, an array's, or a task's ("26_3").
    std::string id;
    bool documents = false;  // read KeptJob::document too
    bool deleting = false;   // only those whose removal was asked for
};

class History {
  public:
    static sys::Result<History> open(const std::string& directory);

    // Adds the resource or replaces it.
    sys::Result<void> put(const Resource&);
    sys::Result<std::optional<Resource>> find(Resource::Kind, const std::string& resource_group,
                                              const std::string& workspace,
                                              const std::string& name);
    // Sorted by name. An empty resource_group or workspace matches all.
    sys::Result<std::vector<Resource>> list(Resource::Kind, const std::string& resource_group,
                                            const std::string& workspace);
    // Removes the resource and what belongs to it, except jobs (remove_job). False: it did not
    // exist.
    sys::Result<bool> remove(const Resource&);

    // Adds a job. False: a job of that name exists, and allow_duplicate is not set.
    sys::Result<bool> add_job(const JobRow&, bool allow_duplicate);
    // Adds jobs in one transaction. Their names may be taken.
    sys::Result<void> adopt(const std::vector<JobRow>&);
    // Sorted by time, the oldest first.
    sys::Result<std::vector<JobRow>> jobs(const JobFilter&);
    // Writes the numbers of jobs, in one transaction.
    sys::Result<void> set_numbers(const std::vector<const JobRow*>&);
    sys::Result<void> set_terminating(const std::string& uuid);
    sys::Result<void> set_deleting(const std::string& uuid);
    // Writes outcome and kept of ended jobs, in one transaction.
    sys::Result<void> keep(const std::vector<const JobRow*>&);
    // Of all jobs but those whose number is not known yet.
    sys::Result<std::unordered_set<std::string>> uuids();
    sys::Result<void> remove_job(const std::string& uuid);

  private:
    sys::Result<void> set_ending(const std::string& uuid, std::int64_t ending);
    sys::Result<void> note_task(const JobRow&);

    explicit History(Database database) : database_(std::move(database)) {}
    Database database_;
};

}  // namespace batchai::cli
