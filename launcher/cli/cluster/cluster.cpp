// SPDX-License-Identifier: Apache-2.0
//
// cluster create, show, list, resize, delete: a cluster is a name for a partition; no machine is
// made.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>

#include "job/record.hpp"
#include "launcher/cli/cluster/clusters.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/history/records.hpp"
#include "launcher/cli/job/job_document.hpp"
#include "launcher/cli/job/job_input.hpp"
#include "launcher/cli/job/jobs.hpp"
#include "launcher/cli/output/result_table.hpp"
#include "launcher/cli/output/time_text.hpp"
#include "launcher/cli/verbs.hpp"
#include "sys/clock.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

constexpr int kMostNodes = 100'000;

struct ClusterArgs {
    Scope scope;
    std::string name;
    std::string vm_size;
    std::string vm_priority = "dedicated";
    std::string user_name;
    std::string partition;
    int target = 0;
    bool yes = false;
};

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

// Nodes of one's own running jobs that are still being prepared, by the jobs' events.
int preparing_nodes(Store& store, const Partition& partition) {
    std::set<std::string> preparing;
    auto jobs = store.history.jobs({});
    if (!jobs) return 0;
    for (auto& row : *jobs) {
        if (row.outcome || row.local || row.slurm_id == 0) continue;
        const auto slurm = query_job(row.slurm_id);
        if (!slurm || !*slurm || (*slurm)->state != "RUNNING" ||
            (*slurm)->partition != partition.name)
            continue;
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

sys::Result<json> document_of(Store& store, const Resource& resource) {
    const auto partition = find_partition(resource.document.value("partition", ""));
    if (!partition) return partition.error();
    NodeCounts counts = count_nodes(*partition);
    const int preparing = std::min(preparing_nodes(store, *partition), counts.running);
    counts.running -= preparing;
    counts.preparing += preparing;

    job::Identity identity;
    identity.resource_group = resource.resource_group;
    identity.workspace = resource.workspace;
    const auto& record = resource.document;
    return json{{"allocationState", counts.resizing ? "resizing" : "steady"},
                {"creationTime", record.value("creationTime", json())},
                {"currentNodeCount", counts.idle + counts.running + counts.preparing +
                                         counts.leaving + counts.unusable},
                {"errors", nullptr},
                {"id", workspace_id(identity) + "/clusters/" + resource.name},
                {"name", resource.name},
                {"nodeSetup", nullptr},
                {"nodeStateCounts", counts_json(counts)},
                {"partition", partition->name},
                {"provisioningState", "succeeded"},
                {"resourceGroup", resource.resource_group},
                {"scaleSettings",
                 {{"autoScale", nullptr},
                  {"manual",
                   {{"nodeDeallocationOption", "requeue"},
                    {"targetNodeCount", record.value("target", json())}}}}},
                {"subnet", nullptr},
                {"type", "Microsoft.BatchAI/workspaces/clusters"},
                {"userAccountSettings", {{"adminUserName", record.value("userName", json())}}},
                {"vmPriority", record.value("vmPriority", json())},
                {"vmSize", record.value("vmSize", json())},
                {"workspace", resource.workspace}};
}

Table cluster_table(const json& documents) {
    return table_of(documents, {{"Name", "name"},
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

int print(const Session& session, Store& store, const Resource& resource) {
    const auto document = document_of(store, resource);
    if (!document) return fail(kEnvironment, document.error());
    return session.print(*document, cluster_table);
}

// What the site policy says of a cluster's name; without a policy, nothing.
job::ClusterPolicy site_cluster(const std::string& name) {
    const auto policy = load_site_policy();
    if (!policy) return {};
    const auto found = policy->clusters.find(name);
    return found == policy->clusters.end() ? job::ClusterPolicy{} : found->second;
}

int refuse_target(const ClusterArgs& args, const Partition& partition) {
    return fail(kBadInput,
                fmt::format("cluster {}: --target {}: partition {} has {} node{}", args.name,
                            args.target, partition.name, partition.nodes.size(),
                            partition.nodes.size() == 1 ? "" : "s"));
}

int create(const Session& session, const ClusterArgs& args) {
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    const auto site = site_cluster(args.name);
    const auto partition = find_partition(args.partition.empty() ? site.partition : args.partition);
    if (!partition) return fail(kEnvironment, partition.error());
    if (args.target > static_cast<int>(partition->nodes.size()))
        return refuse_target(args, *partition);
    if (auto done = remember_workspace(store->history, args.scope); !done)
        return fail(kFailed, done.error());

    Resource resource{Resource::Kind::cluster, args.scope.resource_group, args.scope.workspace,
                      args.name, json::object()};
    const std::string vm_size = args.vm_size.empty() ? site.vm_size : args.vm_size;
    resource.document = {{"creationTime", iso_time(sys::wall_clock())},
                         {"partition", partition->name},
                         {"target", args.target},
                         {"vmPriority", args.vm_priority},
                         {"vmSize", upper(vm_size)}};
    if (!site.gres.empty()) resource.document["gres"] = site.gres;
    if (!args.user_name.empty()) resource.document["userName"] = args.user_name;
    if (auto done = store->history.put(resource); !done) return fail(kFailed, done.error());
    return print(session, *store, resource);
}

// A cluster that was created, else one that the site policy names.
sys::Result<Resource> find(Store& store, const ClusterArgs& args) {
    auto found = store.history.find(Resource::Kind::cluster, args.scope.resource_group,
                                    args.scope.workspace, args.name);
    if (!found) return found.error();
    if (*found) return **std::move(found);
    const auto policy = load_site_policy();
    if (policy && policy->clusters.count(args.name) > 0) {
        const auto& site = policy->clusters.at(args.name);
        return Resource{Resource::Kind::cluster,
                        args.scope.resource_group,
                        args.scope.workspace,
                        args.name,
                        {{"partition", site.partition}, {"vmSize", upper(site.vm_size)}}};
    }
    return sys::Error{"cluster " + args.name + ": not found: see 'batchai cluster list'"};
}

int show(const Session& session, const ClusterArgs& args) {
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    const auto resource = find(*store, args);
    if (!resource) return fail(kBadInput, resource.error());
    return print(session, *store, *resource);
}

int list(const Session& session, const ClusterArgs& args) {
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    const auto all = store->history.list(Resource::Kind::cluster, args.scope.resource_group,
                                         args.scope.workspace);
    if (!all) return fail(kFailed, all.error());
    json documents = json::array();
    for (const auto& resource : *all) {
        const auto document = document_of(*store, resource);
        if (!document) return fail(kEnvironment, document.error());
        documents.push_back(*document);
    }
    return session.print(documents, cluster_table);
}

// Only the number is changed. Nodes come and go as the site's Slurm has it (power saving).
int resize(const Session& session, const ClusterArgs& args) {
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    auto resource = find(*store, args);
    if (!resource) return fail(kBadInput, resource.error());
    const auto partition = find_partition(resource->document.value("partition", ""));
    if (!partition) return fail(kEnvironment, partition.error());
    if (args.target > static_cast<int>(partition->nodes.size()))
        return refuse_target(args, *partition);
    resource->document["target"] = args.target;
    if (auto done = store->history.put(*resource); !done) return fail(kFailed, done.error());
    note("cluster " + args.name + ": the target is remembered; Slurm itself gives back nodes of " +
         "partition " + partition->name + " when they are idle, as the site has set it up");
    return print(session, *store, *resource);
}

int remove(const ClusterArgs& args) {
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    const Resource resource{Resource::Kind::cluster, args.scope.resource_group,
                            args.scope.workspace, args.name, json::object()};
    if (!confirmed(args.yes, "Delete the record of cluster " + args.name + "?")) return kFailed;
    const auto removed = store->history.remove(resource);
    if (!removed) return fail(kFailed, removed.error());
    if (!*removed)
        return fail(kBadInput, "cluster " + args.name + ": not found: see 'batchai cluster list'");
    return kOk;
}

void add_create(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "create", "bind a cluster's name to a partition",
                              "batchai cluster create -g mygroup -w mywork -n nc6cluster "
                              "--vm-size Standard_NC6 --target 4");
    const auto args = std::make_shared<ClusterArgs>();
    verb->add_option("-n,--name", args->name, "cluster")->check(kName)->required();
    add_workspace_options(*verb, args->scope);
    verb->add_option("--partition", args->partition,
                     "partition; left out: the site policy's, else Slurm's default");
    verb->add_option("-t,--target", args->target, "nodes that are wanted, at most the partition's")
        ->check(number_from(0, kMostNodes));
    verb->add_option("-s,--vm-size", args->vm_size, "remembered and shown");
    verb->add_option("--vm-priority", args->vm_priority, "remembered and shown");
    verb->add_option("-u,--user-name", args->user_name, "remembered and shown");
    ignore_options(*verb, {"-f,--config-file", "-i,--image", "--custom-image", "--min", "--max",
                           "-k,--ssh-key", "-p,--password", "--nfs", "--nfs-mount-path",
                           "--afs-name", "--afs-mount-path", "--bfs-name", "--bfs-mount-path",
                           "--storage-account-name", "--storage-account-key", "--subnet",
                           "--setup-task", "--setup-task-output", "-l,--location"});
    ignore_flags(*verb, {"--generate-ssh-keys", "--use-auto-storage", "--no-wait"});
    verb->callback(
        [args, &session] { session.action = [args, &session] { return create(session, *args); }; });
}

}  // namespace

void add_clusters(CLI::App& parent, Session& session) {
    add_create(parent, session);
    const auto args = std::make_shared<ClusterArgs>();
    const auto add_name = [&args](CLI::App& verb) {
        verb.add_option("-n,--name", args->name, "cluster")->check(kName)->required();
        add_workspace_options(verb, args->scope);
    };

    CLI::App* verb = add_verb(parent, session, "show", "a cluster and the state of its nodes",
                              "batchai cluster show -n nc6cluster -o table");
    add_name(*verb);
    verb->callback(
        [args, &session] { session.action = [args, &session] { return show(session, *args); }; });

    verb = add_verb(parent, session, "list", "the clusters that you named",
                    "batchai cluster list -o table");
    const auto all = std::make_shared<ClusterArgs>();
    all->scope = {"", "", ""};
    add_workspace_options(*verb, all->scope);
    verb->callback(
        [all, &session] { session.action = [all, &session] { return list(session, *all); }; });

    verb = add_verb(parent, session, "resize", "remember another number of nodes",
                    "batchai cluster resize -n nc6cluster --target 0");
    add_name(*verb);
    verb->add_option("-t,--target", args->target, "nodes that are wanted")
        ->check(number_from(0, kMostNodes))
        ->required();
    verb->callback(
        [args, &session] { session.action = [args, &session] { return resize(session, *args); }; });

    verb = add_verb(parent, session, "delete", "delete the record; the partition stays",
                    "batchai cluster delete -n nc6cluster --yes");
    add_name(*verb);
    add_yes_flag(*verb, args->yes);
    verb->callback([args, &session] { session.action = [args] { return remove(*args); }; });
}

}  // namespace batchai::cli
