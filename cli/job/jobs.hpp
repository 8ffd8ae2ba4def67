// SPDX-License-Identifier: Apache-2.0
//
// The user's jobs, from rows of the history and record directories. A job of plain `sbatch
// --batchai-job` has a record directory only; find_jobs and find_named add it to the history. Its
// first node writes its number into the record. Until then the number comes from Slurm, which has
// the record's uuid in the job's comment.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command_options.hpp"
#include "cli/history/history.hpp"
#include "cli/session.hpp"
#include "job/spec.hpp"

namespace batchai::cli {

// The user's data directory and the history in it. open_store makes the directory, and finishes
// deletions of jobs that have ended since.
struct Store {
    std::string directory;
    History history;

    std::string record(const std::string& uuid) const { return directory + "/jobs/" + uuid; }
    std::string snapshot(const std::string& uuid) const { return record(uuid) + "/job.json"; }
    // `job run --local` holds this file's lock (sys::FileLock) while its launcher runs.
    std::string lock(const std::string& uuid) const { return record(uuid) + "/lock"; }
};
sys::Result<Store> open_store();

// Has the verb run action(session, store, *args) with the opened store.
template <class Args, class Action>
void set_store_action(CLI::App& verb, Session& session, const std::shared_ptr<Args>& args,
                      Action action) {
    set_action(verb, session, args, [action](const Session& own, const Args& given) -> int {
        auto store = open_store();
        return store ? action(own, *store, given) : fail(kEnvironment, store.error());
    });
}
// For a function whose name other functions have too.
template <class Args>
void set_store_action(CLI::App& verb, Session& session, const std::shared_ptr<Args>& args,
                      int (*action)(const Session&, Store&, const Args&)) {
    set_store_action<Args, int (*)(const Session&, Store&, const Args&)>(verb, session, args,
                                                                         action);
}

// Jobs that match, the oldest first. They include jobs of plain sbatch.
sys::Result<std::vector<JobRow>> find_jobs(Store&, const JobFilter&);

// The jobs that a name means: one, or the tasks of an array in the order of their indices.
struct FoundJobs {
    std::vector<JobRow> rows;  // at least one
    bool is_array = false;     // an array is named, and not one of its tasks
};
// By the name in the scope (the newest, if plain sbatch made several): NAME, or NAME/3 for a task
// of an array. If there is none, by the number in Slurm (26, 26_3) or the uuid, in any scope.
sys::Result<FoundJobs> find_named(Store&, const Scope&, const std::string& name);

// Removes the job's row and its record directory, not its output files.
sys::Result<void> remove_job(Store&, const JobRow&);

// The snapshot as a document, and as a JobSpec.
sys::Result<nlohmann::json> read_snapshot(const Store&, const JobRow&);
sys::Result<job::JobSpec> read_spec(const Store&, const JobRow&);

}  // namespace batchai::cli
