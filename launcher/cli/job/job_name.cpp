// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/job/job_name.hpp"

#include "launcher/cli/command_options.hpp"

namespace batchai::cli {

void add_job_name(CLI::App& verb, JobName& name) {
    // Jobs of sbatch may have names that batchai itself does not give, so kName would be too
    // strict.
    add_arm_name(verb, "-n,--name,-j,--job,--ids", name.name, name.scope, kGroupName,
                 "job: its name, or its Slurm job number");
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
