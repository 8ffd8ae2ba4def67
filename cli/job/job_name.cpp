// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_name.hpp"

#include <fmt/format.h>

#include "cli/command_options.hpp"

namespace batchai::cli {
namespace {

// Jobs of sbatch may have names that batchai itself does not give, so kName would be too strict.
const CLI::Validator kJobName(
    [](std::string& text) -> std::string {
        const auto number = job::parse_number(text);
        if (number && number->is_component())
            return fmt::format(
                "'{}' is a component of a heterogeneous job: batchai knows the job as {}", text,
                number->whole());
        const std::size_t slash = text.find('/');
        if (slash != text.npos && !job::parse_index(text.substr(slash + 1)))
            return "'" + text + "' is not a name of a task: NAME/INDEX, such as train/3";
        std::string name = text.substr(0, slash);
        return kGroupName(name);
    },
    "NAME");

}  // namespace

void add_job_name(CLI::App& verb, JobName& name, const std::string& options) {
    add_arm_name(verb, options, name.name, name.scope, kJobName,
                 "job: its name, or its Slurm job number; NAME/3 or 26_3 is one task of an array");
    add_experiment_options(verb, name.scope);
}

void add_job_name(CLI::App& verb, JobName& name) {
    add_job_name(verb, name, "-n,--name,-j,--job,--ids");
}

sys::Result<NamedJobs> open_jobs(const JobName& name) {
    auto store = open_store();
    if (!store) return store.error();
    auto found = find_named(*store, name.scope, name.name);
    if (!found) return found.error();
    return NamedJobs{*std::move(store), *std::move(found)};
}

NamedJob only_job(NamedJobs jobs) {
    return NamedJob{std::move(jobs.store), std::move(jobs.found.rows.front())};
}

sys::Result<NamedJob> open_job(const JobName& name) {
    auto jobs = open_jobs(name);
    if (!jobs) return jobs.error();
    const auto& rows = jobs->found.rows;
    if (rows.size() > 1)
        return sys::Error{fmt::format(
            "job {}: is an array of {} tasks: name one of them, such as {} or {}", name.name,
            rows.size(), shown_name(rows.front()), rows.front().number.text())};
    return only_job(*std::move(jobs));
}

}  // namespace batchai::cli
