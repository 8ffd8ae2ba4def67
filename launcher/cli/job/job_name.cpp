// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/job/job_name.hpp"

#include "launcher/cli/command_options.hpp"

namespace batchai::cli {

void add_job_name(CLI::App& verb, JobName& name) {
    verb.add_option("-n,--name,-j,--job", name.name, "job: its name, or its Slurm job number")
        ->check(kGroupName)  // sbatch's jobs are named more freely than batchai's
        ->required();
    add_experiment_options(verb, name.scope);
}

sys::Result<NamedJob> open_job(const JobName& name) {
    auto store = open_store();
    if (!store) return store.error();
    auto row = find_job(*store, name.scope, name.name);
    if (!row) return row.error();
    return NamedJob{*std::move(store), *std::move(row)};
}

}  // namespace batchai::cli
