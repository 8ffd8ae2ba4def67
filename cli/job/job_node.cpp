// SPDX-License-Identifier: Apache-2.0
//
// job node list and job node exec.
#include <memory>

#include "cli/command_options.hpp"
#include "cli/job/job_name.hpp"
#include "cli/node/nodes.hpp"
#include "cli/verbs.hpp"
#include "slurm/nodes.hpp"

namespace batchai::cli {
namespace {

sys::Result<NodeSet> nodes_of(const JobName& name) {
    auto job = open_job(name);
    if (!job) return job.error();
    const auto execution = execution_of(job->store, job->row);
    if (!execution) return execution.error();
    if (execution->state != Execution::State::running || job->row.local)
        return sys::Error{"job " + name.name + ": is " +
                          (job->row.local ? "local" : state_name(execution->state)) +
                          ": only a job that Slurm is running has nodes"};
    auto names = slurm::nodes_of_job(job->row.number);
    if (!names) return names.error();
    return NodeSet{*std::move(names), job->row.number, ""};
}

}  // namespace

void add_job_nodes(CLI::App& parent, Session& session) {
    add_node_verbs(parent, session, "batchai job node", "-j train",
                   [](CLI::App& verb) -> FindNodes {
                       const auto name = std::make_shared<JobName>();
                       // -n names the node here, so the job is -j.
                       add_job_name(verb, *name, "-j,--job,--ids");
                       return [name] { return nodes_of(*name); };
                   });
}

}  // namespace batchai::cli
