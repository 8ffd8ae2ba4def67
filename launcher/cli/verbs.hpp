// SPDX-License-Identifier: Apache-2.0
//
// The verbs of batchai, one function each that adds it to its parent (session.hpp says how a verb
// works). The tree is put together in command_tree.cpp.
#pragma once

#include "launcher/cli/session.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

// The whole command.
void build_command(CLI::App&, Session&);

// records.cpp: group, workspace, experiment
void add_groups(CLI::App&, Session&);
void add_workspaces(CLI::App&, Session&);
void add_experiments(CLI::App&, Session&);

// cluster.cpp
void add_clusters(CLI::App&, Session&);

// storage.cpp, storage_file.cpp
void add_storage(CLI::App&, Session&);
void add_storage_files(CLI::App&, Session&);

// job_*.cpp
void add_job_create(CLI::App&, Session&);
void add_job_run(CLI::App&, Session&);
void add_job_check(CLI::App&, Session&);
void add_job_show(CLI::App&, Session&);
void add_job_list(CLI::App&, Session&);
void add_job_wait(CLI::App&, Session&);
void add_job_terminate(CLI::App&, Session&);
void add_job_delete(CLI::App&, Session&);
void add_job_files(CLI::App&, Session&);

// admin.cpp: check, doctor
void add_admin(CLI::App&, Session&);

// completion.cpp
void add_completion(CLI::App&, Session&);

}  // namespace batchai::cli
