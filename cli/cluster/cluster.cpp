// SPDX-License-Identifier: Apache-2.0
//
// cluster show, list, resize, auto-scale, delete, node, file. A cluster is a name for a partition;
// no machine is made.
#include <memory>

#include "cli/cluster/cluster_document.hpp"
#include "cli/command_options.hpp"
#include "cli/job/job_end.hpp"
#include "cli/job/job_input.hpp"
#include "cli/job/parameter_file.hpp"
#include "cli/job/records.hpp"
#include "cli/node/nodes.hpp"
#include "cli/output/result_table.hpp"
#include "cli/storage/share_files.hpp"
#include "cli/verbs.hpp"
#include "job/layout.hpp"
#include "slurm/command.hpp"
#include "slurm/nodes.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

struct ClusterArgs {
    Scope scope;
    std::string name;
    std::string path = ".";
    ClusterSize size;
    EndOptions end;
};

// A cluster that only the site policy defines.
Resource site_resource(const Scope& scope, const std::string& name,
                       const job::ClusterPolicy& site) {
    const json gres = site.gres.empty() ? json() : json(site.gres);
    return {
        Resource::Kind::cluster,
        scope.resource_group.empty() ? "default" : scope.resource_group,
        scope.workspace.empty() ? "default" : scope.workspace,
        name,
        {{"partition", site.partition}, {"vmSize", vm_size_text(site.vm_size)}, {"gres", gres}}};
}

// A cluster that the user has created, or else one of the site policy.
sys::Result<Resource> find(Store& store, const ClusterArgs& args) {
    auto found = store.history.find(Resource::Kind::cluster, args.scope.resource_group,
                                    args.scope.workspace, args.name);
    if (!found) return found.error();
    if (*found) return **std::move(found);
    const auto policy = load_site_policy();
    if (policy && policy->clusters.count(args.name) > 0)
        return site_resource(args.scope, args.name, policy->clusters.at(args.name));
    return sys::Error{"cluster " + args.name + ": not found: see 'batchai cluster list'"};
}

int show(const Session& session, Store& store, const ClusterArgs& args) {
    const auto resource = find(store, args);
    if (!resource) return fail(kBadInput, resource.error());
    return print_cluster(session, store, *resource);
}

int list(const Session& session, Store& store, const ClusterArgs& args) {
    std::vector<Resource> of_site;
    if (const auto policy = load_site_policy())
        for (const auto& [name, site] : policy->clusters)
            of_site.push_back(site_resource(args.scope, name, site));
    return list_resources(
        session, store, args.scope, Resource::Kind::cluster, of_site,
        [&store](const Resource& r) { return cluster_document(store, r); }, cluster_table);
}

// One line about what Slurm does with idle nodes.
std::string power_saving() {
    const auto config = slurm::configuration();
    const std::string program = config ? slurm::value_of(*config, "SuspendProgram") : "";
    const std::string time = config ? slurm::value_of(*config, "SuspendTime") : "";
    if (program.empty() || program == "(null)")
        return "Slurm's power saving is off here (no SuspendProgram): nodes stay on";
    return "Slurm turns off nodes that are idle for " + time +
           " (SuspendTime), and turns them on for jobs";
}

// Changes only the numbers of the record. The site's Slurm decides which nodes are up (power
// saving).
int scale(const Session& session, Store& store, const ClusterArgs& args) {
    auto resource = find(store, args);
    if (!resource) return fail(kBadInput, resource.error());
    const auto partition = slurm::find_partition(resource->document.value("partition", ""));
    if (!partition) return fail(kEnvironment, partition.error());
    if (const auto wrong = wrong_size(args.size, *partition); !wrong.empty())
        return fail(kBadInput, "cluster " + args.name + ": " + wrong);
    if (args.size.least) resource->document["autoScale"] = auto_scale_json(args.size);
    if (args.size.target) {
        resource->document["target"] = *args.size.target;
        resource->document.erase("autoScale");
    }
    if (auto done = store.history.put(*resource); !done) return fail(kFailed, done.error());
    note("cluster " + args.name + ": partition " + partition->name +
         ": the numbers are remembered; " + power_saving());
    return print_cluster(session, store, *resource);
}

// Output of the cluster's setup task, from its time in Azure: batchai runs no setup task.
int list_files(const Session& session, Store& store, const ClusterArgs& args) {
    const auto resource = find(store, args);
    if (!resource) return fail(kBadInput, resource.error());
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    const std::string prefix =
        text_parameter(resource->document, "nodeSetup/setupTask/stdOutErrPathPrefix");
    json files = json::array();
    const auto directory = job::login_path({}, *policy, prefix);
    if (prefix.empty() || !directory) {
        note("cluster " + args.name + ": " +
             (prefix.empty() ? "has no setup task output"
                             : prefix + " is on no [[cluster_volume]] that this machine sees"));
        return session.print(files);
    }
    const auto share = ShareFiles::open(*directory);
    const auto entries = share ? share->list(args.path) : share.error();
    if (!entries) return fail(kFailed, entries.error());
    for (const auto& entry : *entries)
        files.push_back({{"contentLength", entry.is_directory ? json() : json(entry.size)},
                         {"downloadUrl", nullptr},
                         {"isDirectory", entry.is_directory ? "yes" : "no"},
                         {"name", entry.name}});
    return session.print(files, [](const json& rows) {
        return table_of(
            rows, {{"Name", "name"}, {"Is directory", "isDirectory"}, {"Size", "contentLength"}});
    });
}

sys::Result<NodeSet> nodes_of(const ClusterArgs& args) {
    auto store = open_store();
    if (!store) return store.error();
    const auto resource = find(*store, args);
    if (!resource) return resource.error();
    const auto partition = slurm::find_partition(resource->document.value("partition", ""));
    if (!partition) return partition.error();
    NodeSet nodes{{}, {}, partition->name};
    for (const auto& node : partition->nodes) nodes.names.push_back(node.name);
    return nodes;
}

// Ends the cluster's jobs, whose nodes the service took away. Their records stay.
int remove(const Session&, Store& store, const ClusterArgs& args) {
    const auto found = store.history.find(Resource::Kind::cluster, args.scope.resource_group,
                                          args.scope.workspace, args.name);
    if (!found) return fail(kFailed, found.error());
    if (!*found)
        return fail(kBadInput, "cluster " + args.name + ": not found: see 'batchai cluster list'");
    auto jobs = find_jobs(store, {});
    if (!jobs) return fail(kFailed, jobs.error());
    const job::ClusterName name{args.scope.resource_group, args.scope.workspace, args.name};
    std::erase_if(*jobs, [&](const JobRow& row) { return job::cluster_of(row.identity) != name; });
    const int code = end_jobs(store, *jobs, Reach::whole_arrays, Ending::terminate, args.end,
                              "Delete the record of cluster " + args.name + "?");
    if (code != kOk) return code;
    const auto removed = store.history.remove(**found);
    return removed ? kOk : fail(kFailed, removed.error());
}

void add_name(CLI::App& verb, ClusterArgs& args, const char* names) {
    add_arm_name(verb, names, args.name, args.scope, kName, "cluster");
    add_workspace_options(verb, args.scope);
}

using ClusterAction = int (*)(const Session&, Store&, const ClusterArgs&);

std::shared_ptr<ClusterArgs> add_cluster_verb(CLI::App& verb, Session& session,
                                              ClusterAction action, const char* names) {
    const auto args = std::make_shared<ClusterArgs>();
    add_name(verb, *args, names);
    set_store_action(verb, session, args, action);
    return args;
}

}  // namespace

void add_clusters(CLI::App& parent, Session& session) {
    add_cluster_create(parent, session);
    CLI::App* verb = add_verb(parent, session, "show", "a cluster and the state of its nodes",
                              "batchai cluster show -n nc6cluster -o table");
    add_cluster_verb(*verb, session, show, "-n,--name,--ids");

    verb = add_verb(parent, session, "list", "the clusters that you named, and the site's",
                    "batchai cluster list -o table");
    const auto all = std::make_shared<ClusterArgs>();
    all->scope = {"", "", ""};
    add_workspace_options(*verb, all->scope);
    set_store_action(*verb, session, all, list);

    verb = add_verb(parent, session, "resize", "remember another number of nodes",
                    "batchai cluster resize -n nc6cluster --target 0");
    auto args = add_cluster_verb(*verb, session, scale, "-n,--name,--ids");
    add_target(*verb, args->size, "nodes that are wanted");
    verb->get_option("--target")->required();
    ignore_flags(*verb, {"--no-wait"});

    verb = add_verb(parent, session, "auto-scale",
                    "remember a range of nodes; say what Slurm's power saving does",
                    "batchai cluster auto-scale -n nc6cluster --min 0 --max 4");
    args = add_cluster_verb(*verb, session, scale, "-n,--name,--ids");
    add_range(*verb, args->size);
    verb->get_option("--min")->required();
    verb->get_option("--max")->required();
    ignore_flags(*verb, {"--no-wait"});

    verb = add_verb(parent, session, "delete",
                    "end its jobs and delete the record; the partition stays",
                    "batchai cluster delete -n nc6cluster --yes");
    args = add_cluster_verb(*verb, session, remove, "-n,--name,--ids");
    add_end_options(*verb, args->end);

    CLI::App* files = parent.add_subcommand("file", "files of a setup task")->require_subcommand(1);
    verb = add_verb(*files, session, "list", "what setup tasks have left on a [[cluster_volume]]",
                    "batchai cluster file list -c nc6cluster -o table");
    args = add_cluster_verb(*verb, session, list_files, "-c,--cluster,-n,--name,--ids");
    verb->add_option("-p,--path", args->path, "folder below it")->check(kSharePath);
    ignore_options(*verb, {"--expiry"});

    CLI::App* nodes = parent.add_subcommand("node", "a cluster's nodes")->require_subcommand(1);
    add_node_verbs(*nodes, session, "batchai cluster node", "-c nc6cluster",
                   [](CLI::App& node) -> FindNodes {
                       const auto cluster = std::make_shared<ClusterArgs>();
                       add_name(node, *cluster, "-c,--cluster,--ids");
                       return [cluster] { return nodes_of(*cluster); };
                   });
}

}  // namespace batchai::cli
