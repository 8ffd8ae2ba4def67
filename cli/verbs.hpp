// SPDX-License-Identifier: Apache-2.0
//
// The verbs of batchai: one function each, which adds the verb to its parent. session.hpp says how
// a verb works, and command.cpp builds the tree.
#pragma once

#include "cli/session.hpp"
#include "job/spec.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

// Builds the whole command.
void build_command(CLI::App&, Session&);

// records.cpp: group, workspace, experiment
void add_groups(CLI::App&, Session&);
void add_workspaces(CLI::App&, Session&);
void add_experiments(CLI::App&, Session&);

// cluster_create.cpp, cluster.cpp, file_server.cpp, usages.cpp
void add_cluster_create(CLI::App&, Session&);
void add_clusters(CLI::App&, Session&);
void add_file_servers(CLI::App&, Session&);
void add_usages(CLI::App&, Session&);

// storage.cpp, storage_file.cpp, storage_blob.cpp, storage_batch.cpp
void add_storage(CLI::App&, Session&);
void add_storage_files(CLI::App&, Session&);
void add_storage_blobs(CLI::App&, Session&);
void add_storage_batches(CLI::App&, Session&, job::Volume::Kind);

// job_*.cpp
void add_job_create(CLI::App&, Session&);
void add_job_run(CLI::App&, Session&);
void add_job_check(CLI::App&, Session&);
void add_job_show(CLI::App&, Session&);
void add_job_list(CLI::App&, Session&);
void add_job_wait(CLI::App&, Session&);
void add_job_stacks(CLI::App&, Session&);
void add_job_terminate(CLI::App&, Session&);
void add_job_delete(CLI::App&, Session&);
void add_job_files(CLI::App&, Session&);
void add_job_nodes(CLI::App&, Session&);

// top.cpp
void add_top(CLI::App&, Session&);

// policy_suggest.cpp
void add_policy(CLI::App&, Session&);

// admin.cpp: check, doctor
void add_admin(CLI::App&, Session&);

// configure.cpp, print.cpp
void add_configure(CLI::App&, Session&);
void add_print(CLI::App&, Session&);

// completion.cpp
void add_completion(CLI::App&, Session&);

}  // namespace batchai::cli
