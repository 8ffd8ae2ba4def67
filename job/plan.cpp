// SPDX-License-Identifier: Apache-2.0
#include "job/plan.hpp"

#include <numeric>

#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/toolkit/toolkit.hpp"

namespace batchai::job {

namespace {

std::string join(const std::vector<std::string>& parts, const char* separator) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
    return text;
}

}  // namespace

Environment job_environment(const JobSpec& spec, const Identity& identity,
                            const NodeContext& context) {
    const std::string gpus = std::to_string(context.gpus);
    Environment environment = {
        {"AZ_BATCHAI_MOUNT_ROOT", context.mount_root},
        {"AZ_BATCHAI_JOB_MOUNT_ROOT", context.mount_root},
        {"AZ_BATCHAI_JOB_TEMP", context.job_temp},
        {"AZ_BATCHAI_JOB_TEMP_DIR", context.job_temp},
        {"AZ_BATCHAI_SHARED_JOB_TEMP", context.shared_temp},
        {"AZ_BATCHAI_NUM_GPUS", gpus},
        {"AZ_BATCHAI_NUM_GPUS_PER_NODE", gpus},
        {"AZ_BATCHAI_MPI_HOST_FILE", context.job_temp + "/hostfile"},
        {"AZ_BATCH_HOST_LIST", join(context.hosts, ",")},
    };
    // Azure Batch's own port. Scripts cut it off.
    if (!context.hosts.empty())
        environment["AZ_BATCH_MASTER_NODE"] = context.hosts.front() + ":6000";
    environment["AZ_BATCHAI_STDOUTERR_DIR"] = stdouterr_directory(spec, identity, environment);
    for (const OutputDirectory& output : spec.outputs) {
        const std::string path = output_directory(output, identity, environment).path;
        environment["AZ_BATCHAI_OUTPUT_" + output.id] = path;
        if (context.is_retry) environment["AZ_BATCHAI_PREV_OUTPUT_" + output.id] = path;
    }
    for (const InputDirectory& input : spec.inputs)
        environment["AZ_BATCHAI_INPUT_" + input.id] = expand(input.path, environment);
    const Environment variables = environment;  // the job's own may refer to these
    for (const Variable& variable : spec.environment)
        environment[variable.name] = expand(variable.value, variables);
    for (const Variable& secret : spec.secrets) {
        if (!secret.reference)
            environment[secret.name] = expand(secret.value, variables);
        else if (!secret.value.empty())
            environment[secret.name] = secret.value;
    }
    return environment;
}

std::string host_file(const std::vector<HostSlots>& hosts) {
    std::string text;
    for (const HostSlots& host : hosts)
        text += host.host + " slots=" + std::to_string(host.slots()) + "\n";
    return text;
}

std::string script_path(const JobSpec& spec, const Environment& environment,
                        const ImagePolicy& image) {
    const ToolkitSettings& toolkit = spec.toolkit;
    const std::string path =
        expand(toolkit.script.empty() ? toolkit.config : toolkit.script, environment);
    const bool plain = path.find_first_of(" \t\n\"'`$\\;&|<>()*?[]{}#!") == path.npos;
    if (!plain || !path.starts_with('/')) return {};
    const auto mounts = environment.find("AZ_BATCHAI_JOB_MOUNT_ROOT");
    const bool on_host =
        !image.in_container() || (mounts != environment.end() && is_within(path, mounts->second));
    return on_host ? path : std::string();
}

std::vector<ProcessGroup> plan_launch(const JobSpec& spec, const SitePolicy& policy,
                                      const std::vector<int>& gpus_per_node) {
    const int gpus = std::accumulate(gpus_per_node.begin(), gpus_per_node.end(), 0);
    const int ranks = policy.rank_per_gpu && gpus > 0 ? gpus : spec.node_count;
    for (const Toolkit& toolkit : toolkits())
        if (toolkit.type == spec.toolkit.type)
            return toolkit.plan(spec.toolkit, {policy.python, spec.node_count, ranks});
    return {};
}

}  // namespace batchai::job
