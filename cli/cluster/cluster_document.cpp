// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/cluster_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "cli/command_options.hpp"
#include "cli/job/clusters.hpp"
#include "cli/job/job_document.hpp"
#include "cli/job/job_state.hpp"
#include "cli/output/result_table.hpp"
#include "job/record.hpp"
#include "slurm/nodes.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

// The number of nodes on which the user's running jobs are being prepared, from the jobs' events.
int count_preparing(Store& store, const slurm::Partition& partition) {
    std::set<std::string> preparing;
    auto jobs = store.history.jobs({});
    if (!jobs) return 0;
    const OwnJobs all;
    for (auto& row : *jobs) {
        if (row.outcome || row.local || !row.number || !all.get()) continue;
        const auto slurm = all.get()->find(row.number);
        if (!slurm || slurm->state != "RUNNING" || slurm->partition != partition.name) continue;
        for (const auto& event : job::read_events(store.record(row.identity.uuid))) {
            if (event.kind == job::Event::Kind::preparing)
                preparing.insert(event.node);
            else
                preparing.erase(event.node);
        }
    }
    return static_cast<int>(preparing.size());
}

json counts_json(const NodeCounts& counts) {
    return {{"idleNodeCount", counts.idle},
            {"leavingNodeCount", counts.leaving},
            {"preparingNodeCount", counts.preparing},
            {"runningNodeCount", counts.running},
            {"unusableNodeCount", counts.unusable}};
}

json scale_json(const json& record) {
    const json automatic = record.value("autoScale", json());
    if (!automatic.is_null()) return {{"autoScale", automatic}, {"manual", nullptr}};
    return {{"autoScale", nullptr},
            {"manual",
             {{"nodeDeallocationOption", "requeue"},
              {"targetNodeCount", record.value("target", json())}}}};
}

const json& node_setup_shape() {
    static const json shape = [] {
        json all = json::parse(R"({
            "performanceCountersSettings": {"appInsightsReference": null},
            "setupTask": {
                "commandLine": null,
                "environmentVariables": [{"name": null, "value": null}],
                "secrets": [{"name": null, "value": null, "valueSecretReference": null}],
                "stdOutErrPathPrefix": null, "stdOutErrPathSuffix": null}})");
        all["mountVolumes"] = mount_volumes_shape();
        return all;
    }();
    return shape;
}

const json& machine_shape() {
    static const json shape = json::parse(R"({
        "imageReference": {
            "offer": null, "publisher": null, "sku": null, "version": "latest",
            "virtualMachineImageId": null}})");
    return shape;
}

}  // namespace

std::string vm_size_text(std::string size) {
    std::transform(size.begin(), size.end(), size.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return size;
}

sys::Result<json> cluster_document(Store& store, const Resource& resource) {
    const auto partition = slurm::find_partition(resource.document.value("partition", ""));
    if (!partition) return partition.error();
    NodeCounts counts = count_nodes(*partition);
    const int preparing = std::min(count_preparing(store, *partition), counts.running);
    counts.running -= preparing;
    counts.preparing += preparing;

    job::Identity identity;
    identity.resource_group = resource.resource_group;
    identity.workspace = resource.workspace;
    const auto& record = resource.document;
    const json created = record.value("creationTime", json());
    return json{{"allocationState", counts.resizing ? "resizing" : "steady"},
                {"allocationStateTransitionTime", created},
                {"creationTime", created},
                {"currentNodeCount", counts.idle + counts.running + counts.preparing +
                                         counts.leaving + counts.unusable},
                {"errors", nullptr},
                {"id", workspace_id(identity) + "/clusters/" + resource.name},
                {"name", resource.name},
                {"nodeSetup", shaped(record.value("nodeSetup", json()), node_setup_shape())},
                {"nodeStateCounts", counts_json(counts)},
                {"provisioningState", "succeeded"},
                {"provisioningStateTransitionTime", created},
                {"resourceGroup", resource.resource_group},
                {"scaleSettings", scale_json(record)},
                {"slurm", {{"gres", record.value("gres", json())}, {"partition", partition->name}}},
                {"subnet", nullptr},
                {"type", "Microsoft.BatchAI/workspaces/clusters"},
                {"userAccountSettings",
                 {{"adminUserName", record.value("userName", json())},
                  {"adminUserPassword", nullptr},
                  {"adminUserSshPublicKey", nullptr}}},
                {"virtualMachineConfiguration",
                 shaped(record.value("virtualMachine", json()), machine_shape())},
                {"vmPriority", record.value("vmPriority", json())},
                {"vmSize", record.value("vmSize", json())}};
}

Table cluster_table(const json& documents) {
    json rows = documents.is_array() ? documents : json::array({documents});
    for (auto& row : rows) row["workspace"] = workspace_of(row.value("id", ""));
    return table_of(rows, {{"Name", "name"},
                           {"Resource Group", "resourceGroup"},
                           {"Workspace", "workspace"},
                           {"VM Size", "vmSize"},
                           {"State", "allocationState"},
                           {"Idle", "nodeStateCounts/idleNodeCount"},
                           {"Running", "nodeStateCounts/runningNodeCount"},
                           {"Preparing", "nodeStateCounts/preparingNodeCount"},
                           {"Leaving", "nodeStateCounts/leavingNodeCount"},
                           {"Unusable", "nodeStateCounts/unusableNodeCount"}});
}

int print_cluster(const Session& session, Store& store, const Resource& resource) {
    const auto document = cluster_document(store, resource);
    if (!document) return fail(kEnvironment, document.error());
    return session.print(*document, cluster_table);
}

namespace {

constexpr int kMostNodes = 100'000;

std::string too_many(const std::string& option, int wanted, const slurm::Partition& partition) {
    if (wanted <= static_cast<int>(partition.nodes.size())) return {};
    return fmt::format("{} {}: partition {} has {}", option, wanted, partition.name,
                       sys::plural(static_cast<long long>(partition.nodes.size()), "node"));
}

}  // namespace

void add_target(CLI::App& verb, ClusterSize& size, const std::string& description) {
    verb.add_option("-t,--target", size.target, description)->check(number_from(0, kMostNodes));
}

void add_range(CLI::App& verb, ClusterSize& size) {
    verb.add_option("--min", size.least, "nodes that stay, remembered and shown")
        ->check(number_from(0, kMostNodes));
    verb.add_option("--max", size.most, "nodes at most, of the partition's")
        ->check(number_from(0, kMostNodes));
}

std::string wrong_size(const ClusterSize& size, const slurm::Partition& partition) {
    if (auto wrong = too_many("--target", size.target.value_or(0), partition); !wrong.empty())
        return wrong;
    if (!size.least && !size.most) return {};
    if (!size.least || !size.most) return "--min and --max go together: give both";
    if (*size.least > *size.most)
        return fmt::format("--min {} is more than --max {}", *size.least, *size.most);
    return too_many("--max", *size.most, partition);
}

nlohmann::json auto_scale_json(const ClusterSize& size) {
    return {{"initialNodeCount", size.target.value_or(0)},
            {"maximumNodeCount", *size.most},
            {"minimumNodeCount", *size.least}};
}

}  // namespace batchai::cli
