// SPDX-License-Identifier: Apache-2.0
//
// cluster create, show, list, resize, auto-scale, delete, node, file: a cluster is a name for a
// partition; no machine is made.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <set>

#include "job/layout.hpp"
#include "job/record.hpp"
#include "launcher/cli/cluster/clusters.hpp"
#include "launcher/cli/cluster/mounts.hpp"
#include "launcher/cli/cluster/parameter_file.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/history/records.hpp"
#include "launcher/cli/job/job_document.hpp"
#include "launcher/cli/job/job_input.hpp"
#include "launcher/cli/job/jobs.hpp"
#include "launcher/cli/node/nodes.hpp"
#include "launcher/cli/output/result_table.hpp"
#include "launcher/cli/output/time_text.hpp"
#include "launcher/cli/storage/share_files.hpp"
#include "launcher/cli/verbs.hpp"
#include "sys/clock.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

constexpr int kMostNodes = 100'000;

struct ClusterArgs {
    Scope scope;
    std::string name;
    std::string file;
    std::string image;
    std::string vm_size;
    std::string vm_priority;
    std::string user_name;
    std::string partition;
    std::string setup_task;
    std::string setup_task_output;
    std::string path = ".";
    MountOptions mounts;
    std::optional<int> target;
    std::optional<int> least;  // of --min and --max
    std::optional<int> most;
    bool auto_storage = false;
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
    const OwnJobs all;
    for (auto& row : *jobs) {
        if (row.outcome || row.local || row.slurm_id == 0 || !all.get()) continue;
        const auto slurm = all.get()->find(row.slurm_id);
        if (slurm == all.get()->end() || slurm->second.state != "RUNNING" ||
            slurm->second.partition != partition.name)
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

json scale_json(const json& record) {
    const json automatic = record.value("autoScale", json());
    if (!automatic.is_null()) return {{"autoScale", automatic}, {"manual", nullptr}};
    return {{"autoScale", nullptr},
            {"manual",
             {{"nodeDeallocationOption", "requeue"},
              {"targetNodeCount", record.value("target", json())}}}};
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
    const json created = record.value("creationTime", json());
    return json{{"allocationState", counts.resizing ? "resizing" : "steady"},
                {"allocationStateTransitionTime", created},
                {"creationTime", created},
                {"currentNodeCount", counts.idle + counts.running + counts.preparing +
                                         counts.leaving + counts.unusable},
                {"errors", nullptr},
                {"id", workspace_id(identity) + "/clusters/" + resource.name},
                {"name", resource.name},
                {"nodeSetup", record.value("nodeSetup", json())},
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
                {"virtualMachineConfiguration", record.value("virtualMachine", json())},
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

// What the command line and the file ask for that the partition cannot give; empty: nothing.
std::string wrong_size(const std::string& option, int wanted, const Partition& partition) {
    if (wanted <= static_cast<int>(partition.nodes.size())) return {};
    return fmt::format("{} {}: partition {} has {} node{}", option, wanted, partition.name,
                       partition.nodes.size(), partition.nodes.size() == 1 ? "" : "s");
}

std::string wrong_range(const ClusterArgs& args, const Partition& partition) {
    if (!args.least && !args.most) return {};
    if (!args.least || !args.most) return "--min and --max go together: give both";
    if (*args.least > *args.most)
        return fmt::format("--min {} is more than --max {}", *args.least, *args.most);
    return wrong_size("--max", *args.most, partition);
}

json auto_scale_json(const ClusterArgs& args) {
    return {{"initialNodeCount", args.target.value_or(0)},
            {"maximumNodeCount", *args.most},
            {"minimumNodeCount", *args.least}};
}

// What the file says and the command line does not.
void fill_in(ClusterArgs& args, const json& file) {
    const auto text = [&file](std::string& value, const char* path) {
        if (value.empty()) value = text_parameter(file, path);
    };
    const auto number = [&file](std::optional<int>& value, const char* path) {
        const json found = parameter(file, path);
        if (!value && found.is_number_integer()) value = found.get<int>();
    };
    text(args.vm_size, "vmSize");
    text(args.vm_priority, "vmPriority");
    text(args.user_name, "userAccountSettings/adminUserName");
    text(args.setup_task, "nodeSetup/setupTask/commandLine");
    text(args.setup_task_output, "nodeSetup/setupTask/stdOutErrPathPrefix");
    number(args.target, "scaleSettings/manual/targetNodeCount");
    if (args.target) return;
    number(args.target, "scaleSettings/autoScale/initialNodeCount");
    number(args.least, "scaleSettings/autoScale/minimumNodeCount");
    number(args.most, "scaleSettings/autoScale/maximumNodeCount");
}

// Said, so that no key of the file is passed over in silence.
void say_what_is_not_taken(const ClusterArgs& args, const json& file) {
    constexpr std::array<std::pair<const char*, const char*>, 5> kNotTaken{
        {{"subnet", "the site's network is as it is"},
         {"nodeSetup/performanceCountersSettings", "there is no Application Insights here"},
         {"nodeSetup/setupTask/secrets", "the setup task is not run"},
         {"userAccountSettings/adminUserPassword", "users are the site's"},
         {"userAccountSettings/adminUserSshPublicKey", "users are the site's"}}};
    for (const auto& [path, why] : kNotTaken)
        if (!parameter(file, path).is_null())
            note(fmt::format("cluster {}: {}: {} is not taken: {}", args.name, args.file, path,
                             why));
    if (!args.setup_task.empty())
        note("cluster " + args.name +
             ": the setup task is recorded and not run: the site sets up its nodes; put the "
             "command into jobPreparation of the job file");
}

json node_setup(const ClusterArgs& args, const json& file) {
    json volumes = mount_volumes(args.mounts, args.scope);
    json setup{{"mountVolumes", parameter(file, "nodeSetup/mountVolumes")}};
    merge_volumes(setup, volumes);
    if (setup["mountVolumes"].empty()) setup["mountVolumes"] = nullptr;
    hide_credentials(setup);
    setup["performanceCountersSettings"] = nullptr;
    setup["setupTask"] = nullptr;
    if (!args.setup_task.empty())
        setup["setupTask"] = {{"commandLine", args.setup_task},
                              {"environmentVariables", nullptr},
                              {"secrets", nullptr},
                              {"stdOutErrPathPrefix", args.setup_task_output},
                              {"stdOutErrPathSuffix", nullptr}};
    if (setup["mountVolumes"].is_null() && setup["setupTask"].is_null()) return nullptr;
    return setup;
}

// publisher:offer:sku:version, or one of az's short names.
json image_json(const ClusterArgs& args, const json& file) {
    if (args.image.empty()) return parameter(file, "virtualMachineConfiguration");
    auto parts = CLI::detail::split(args.image, ':');
    if (parts.size() < 3) parts = {"", args.image, "", ""};
    parts.resize(4);
    return {{"imageReference",
             {{"offer", parts[1]},
              {"publisher", parts[0]},
              {"sku", parts[2]},
              {"version", parts[3].empty() ? "latest" : parts[3]},
              {"virtualMachineImageId", nullptr}}}};
}

// The share and the container that az made for a subscription, and where it mounted them.
void use_auto_storage(MountOptions& mounts) {
    mounts.share = "batchaishare";
    mounts.share_path = "autoafs";
    mounts.container = "batchaicontainer";
    mounts.container_path = "autobfs";
}

int create(const Session& session, ClusterArgs args) {
    json file = json::object();
    if (!args.file.empty()) {
        auto read = read_parameters(args.file);
        if (!read) return fail(kBadInput, read.error());
        file = *std::move(read);
        fill_in(args, file);
    }
    if (args.auto_storage && args.mounts.share.empty() && args.mounts.container.empty())
        use_auto_storage(args.mounts);
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    const auto site = site_cluster(args.name);
    const auto partition = find_partition(args.partition.empty() ? site.partition : args.partition);
    if (!partition) return fail(kEnvironment, partition.error());
    std::string wrong = wrong_size("--target", args.target.value_or(0), *partition);
    if (wrong.empty()) wrong = wrong_range(args, *partition);
    if (!wrong.empty()) return fail(kBadInput, "cluster " + args.name + ": " + wrong);
    if (auto done = remember_workspace(store->history, args.scope); !done)
        return fail(kFailed, done.error());
    say_what_is_not_taken(args, file);

    Resource resource{Resource::Kind::cluster, args.scope.resource_group, args.scope.workspace,
                      args.name, json::object()};
    const std::string vm_size = args.vm_size.empty() ? site.vm_size : args.vm_size;
    resource.document = {{"creationTime", iso_time(sys::wall_clock())},
                         {"nodeSetup", node_setup(args, file)},
                         {"partition", partition->name},
                         {"target", args.target.value_or(0)},
                         {"virtualMachine", image_json(args, file)},
                         {"vmPriority", args.vm_priority.empty() ? "dedicated" : args.vm_priority},
                         {"vmSize", upper(vm_size)}};
    if (args.least) resource.document["autoScale"] = auto_scale_json(args);
    if (!site.gres.empty()) resource.document["gres"] = site.gres;
    if (!args.user_name.empty()) resource.document["userName"] = args.user_name;
    if (auto done = store->history.put(resource); !done) return fail(kFailed, done.error());
    return print(session, *store, resource);
}

// A cluster that only the site policy names.
Resource site_resource(const Scope& scope, const std::string& name,
                       const job::ClusterPolicy& site) {
    const json gres = site.gres.empty() ? json() : json(site.gres);
    return {Resource::Kind::cluster,
            scope.resource_group.empty() ? "default" : scope.resource_group,
            scope.workspace.empty() ? "default" : scope.workspace,
            name,
            {{"partition", site.partition}, {"vmSize", upper(site.vm_size)}, {"gres", gres}}};
}

// A cluster that was created, else one that the site policy names.
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
    std::vector<Resource> resources = *all;
    if (const auto policy = load_site_policy())
        for (const auto& [name, site] : policy->clusters)
            if (std::none_of(all->begin(), all->end(),
                             [&n = name](const Resource& r) { return r.name == n; }))
                resources.push_back(site_resource(args.scope, name, site));
    for (const auto& resource : resources) {
        const auto document = document_of(*store, resource);
        if (!document) return fail(kEnvironment, document.error());
        documents.push_back(*document);
    }
    return session.print(documents, cluster_table);
}

// What Slurm itself does with nodes that are idle, in one line.
std::string power_saving() {
    const auto config = slurm_configuration();
    const std::string program = config ? value_of(*config, "SuspendProgram") : "";
    const std::string time = config ? value_of(*config, "SuspendTime") : "";
    if (program.empty() || program == "(null)")
        return "Slurm's power saving is off here (no SuspendProgram): nodes stay on";
    return "Slurm turns off nodes that are idle for " + time +
           " (SuspendTime), and turns them on for jobs";
}

// Only the numbers are changed. Nodes come and go as the site's Slurm has it (power saving).
int scale(const Session& session, const ClusterArgs& args) {
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    auto resource = find(*store, args);
    if (!resource) return fail(kBadInput, resource.error());
    const auto partition = find_partition(resource->document.value("partition", ""));
    if (!partition) return fail(kEnvironment, partition.error());
    std::string wrong = wrong_size("--target", args.target.value_or(0), *partition);
    if (wrong.empty()) wrong = wrong_range(args, *partition);
    if (!wrong.empty()) return fail(kBadInput, "cluster " + args.name + ": " + wrong);
    if (args.least) resource->document["autoScale"] = auto_scale_json(args);
    if (args.target) {
        resource->document["target"] = *args.target;
        resource->document.erase("autoScale");
    }
    if (auto done = store->history.put(*resource); !done) return fail(kFailed, done.error());
    note("cluster " + args.name + ": partition " + partition->name +
         ": the numbers are remembered; " + power_saving());
    return print(session, *store, *resource);
}

// What the setup task has left where its output goes: files from the cluster's time in Azure, for
// it is not run here.
int list_files(const Session& session, const ClusterArgs& args) {
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
    const auto resource = find(*store, args);
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
    const auto partition = find_partition(resource->document.value("partition", ""));
    if (!partition) return partition.error();
    NodeSet nodes{{}, 0, partition->name};
    for (const auto& node : partition->nodes) nodes.names.push_back(node.name);
    return nodes;
}

int remove(const Session&, const ClusterArgs& args) {
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

void add_name(CLI::App& verb, ClusterArgs& args, const char* names) {
    add_arm_name(verb, names, args.name, args.scope, kName, "cluster");
    add_workspace_options(verb, args.scope);
}

void add_range(CLI::App& verb, ClusterArgs& args) {
    verb.add_option("--min", args.least, "nodes that stay, remembered and shown")
        ->check(number_from(0, kMostNodes));
    verb.add_option("--max", args.most, "nodes at most, of the partition's")
        ->check(number_from(0, kMostNodes));
}

void add_create(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "create", "bind a cluster's name to a partition",
                              "batchai cluster create -g mygroup -w mywork -n nc6cluster "
                              "--vm-size Standard_NC6 --target 4");
    const auto args = std::make_shared<ClusterArgs>();
    add_name(*verb, *args, "-n,--name");
    verb->add_option("-f,--config-file", args->file, "cluster.json; options count before it");
    verb->add_option("--partition", args->partition,
                     "partition; left out: the site policy's, else Slurm's default");
    verb->add_option("-t,--target", args->target, "nodes that are wanted, at most the partition's")
        ->check(number_from(0, kMostNodes));
    add_range(*verb, *args);
    verb->add_option("-i,--image", args->image, "remembered and shown");
    verb->add_option("-s,--vm-size", args->vm_size, "remembered and shown");
    verb->add_option("--vm-priority", args->vm_priority, "remembered and shown");
    verb->add_option("-u,--user-name", args->user_name, "remembered and shown");
    verb->add_option("--setup-task", args->setup_task, "remembered and shown, not run");
    verb->add_option("--setup-task-output", args->setup_task_output, "remembered and shown");
    add_mount_options(*verb, args->mounts);
    verb->add_option("--storage-account-name", args->mounts.account,
                     "of the share and the container")
        ->envname("AZURE_BATCHAI_STORAGE_ACCOUNT");
    verb->add_flag("--use-auto-storage", args->auto_storage,
                   "mount batchaishare at autoafs and batchaicontainer at autobfs");
    ignore_options(*verb, {"--custom-image", "-k,--ssh-key", "-p,--password",
                           "--storage-account-key", "--subnet", "-l,--location"});
    ignore_flags(*verb, {"--generate-ssh-keys", "--no-wait"});
    verb->callback(
        [args, &session] { session.action = [args, &session] { return create(session, *args); }; });
}

using ClusterAction = int (*)(const Session&, const ClusterArgs&);

std::shared_ptr<ClusterArgs> add_cluster_verb(CLI::App& verb, Session& session,
                                              ClusterAction action, const char* names) {
    const auto args = std::make_shared<ClusterArgs>();
    add_name(verb, *args, names);
    verb.callback([args, action, &session] {
        session.action = [args, action, &session] { return action(session, *args); };
    });
    return args;
}

}  // namespace

void add_clusters(CLI::App& parent, Session& session) {
    add_create(parent, session);
    CLI::App* verb = add_verb(parent, session, "show", "a cluster and the state of its nodes",
                              "batchai cluster show -n nc6cluster -o table");
    add_cluster_verb(*verb, session, show, "-n,--name,--ids");

    verb = add_verb(parent, session, "list", "the clusters that you named, and the site's",
                    "batchai cluster list -o table");
    const auto all = std::make_shared<ClusterArgs>();
    all->scope = {"", "", ""};
    add_workspace_options(*verb, all->scope);
    verb->callback(
        [all, &session] { session.action = [all, &session] { return list(session, *all); }; });

    verb = add_verb(parent, session, "resize", "remember another number of nodes",
                    "batchai cluster resize -n nc6cluster --target 0");
    auto args = add_cluster_verb(*verb, session, scale, "-n,--name,--ids");
    verb->add_option("-t,--target", args->target, "nodes that are wanted")
        ->check(number_from(0, kMostNodes))
        ->required();
    ignore_flags(*verb, {"--no-wait"});

    verb = add_verb(parent, session, "auto-scale",
                    "remember a range of nodes; say what Slurm's power saving does",
                    "batchai cluster auto-scale -n nc6cluster --min 0 --max 4");
    args = add_cluster_verb(*verb, session, scale, "-n,--name,--ids");
    add_range(*verb, *args);
    verb->get_option("--min")->required();
    verb->get_option("--max")->required();
    ignore_flags(*verb, {"--no-wait"});

    verb = add_verb(parent, session, "delete", "delete the record; the partition stays",
                    "batchai cluster delete -n nc6cluster --yes");
    args = add_cluster_verb(*verb, session, remove, "-n,--name,--ids");
    add_yes_flag(*verb, args->yes);

    CLI::App* files = parent.add_subcommand("file", "files of a setup task")->require_subcommand(1);
    verb = add_verb(*files, session, "list", "what setup tasks have left on a [[cluster_volume]]",
                    "batchai cluster file list -c nc6cluster -o table");
    args = add_cluster_verb(*verb, session, list_files, "-c,--cluster,-n,--name,--ids");
    verb->add_option("-p,--path", args->path, "folder below it")->check(kSharePath);
    ignore_options(*verb, {"--expiry"});

    CLI::App* nodes = parent.add_subcommand("node", "a cluster's nodes")->require_subcommand(1);
    add_node_verbs(*nodes, session, "batchai cluster node", [](CLI::App& node) -> FindNodes {
        const auto cluster = std::make_shared<ClusterArgs>();
        add_name(node, *cluster, "-c,--cluster,--ids");
        return [cluster] { return nodes_of(*cluster); };
    });
}

}  // namespace batchai::cli
