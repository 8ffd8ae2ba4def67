// SPDX-License-Identifier: Apache-2.0
//
// What the user created with batchai: groups, workspaces, experiments, clusters, accounts, shares
// and jobs, in <data directory>/history.db. A record about names, never the data itself: deleting
// it all loses no job and no file, and jobs with a record directory come back (jobs.hpp).
//
// A rollback journal, never WAL: homes are on NFS, and WAL needs memory that all clients share.
// Several processes may use the file at once: a writer locks the others out for milliseconds, and
// they wait for it. Over NFS that is as safe as the server's locks (fcntl).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "job/spec.hpp"
#include "launcher/cli/history/sqlite.hpp"
#include "launcher/cli/job/execution.hpp"
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

// What is shown of a job that is over. Kept, so that no file is read for it again.
struct KeptJob {
    std::string tool;      // toolType
    int nodes = 0;         // nodeCount
    std::string document;  // `job show`'s JSON as printed; empty where it was not asked for
};

struct JobRow {
    job::Identity identity;
    std::int64_t slurm_id = 0;  // 0: not submitted yet, or local
    bool local = false;         // started by `job run --local`
    double created = 0;
    bool terminating = false;          // the user asked for its end
    std::optional<Execution> outcome;  // once it is over
    std::optional<KeptJob> kept;       // with outcome; an older batchai has kept none
};

// Which jobs: empty fields match all.
struct JobFilter {
    std::string resource_group;
    std::string workspace;
    std::string experiment;
    std::string name;
    std::string id;          // the Slurm job's number or the uuid
    bool documents = false;  // with KeptJob::document
};

class History {
  public:
    static sys::Result<History> open(const std::string& directory);

    // Adds or replaces.
    sys::Result<void> put(const Resource&);
    sys::Result<std::optional<Resource>> find(Resource::Kind, const std::string& resource_group,
                                              const std::string& workspace,
                                              const std::string& name);
    // By name; empty resource_group or workspace: all of them.
    sys::Result<std::vector<Resource>> list(Resource::Kind, const std::string& resource_group,
                                            const std::string& workspace);
    // The resource and what belongs to it; jobs are removed with remove_job. False: there was none.
    sys::Result<bool> remove(const Resource&);

    // Adds a job; false when identity's names are taken, unless duplicates are allowed.
    sys::Result<bool> add_job(const JobRow&, bool allow_duplicate);
    // Adds jobs whatever their names are, all at once.
    sys::Result<void> adopt(const std::vector<JobRow>&);
    // Oldest first.
    sys::Result<std::vector<JobRow>> jobs(const JobFilter&);
    sys::Result<void> set_slurm_id(const std::string& uuid, std::int64_t slurm_id);
    sys::Result<void> set_terminating(const std::string& uuid);
    // Of jobs that are over: writes outcome and kept, all at once.
    sys::Result<void> keep(const std::vector<const JobRow*>&);
    sys::Result<std::unordered_set<std::string>> uuids();
    sys::Result<void> remove_job(const std::string& uuid);

  private:
    explicit History(Database database) : database_(std::move(database)) {}
    Database database_;
};

}  // namespace batchai::cli
