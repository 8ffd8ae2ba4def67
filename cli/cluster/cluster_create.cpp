// SPDX-License-Identifier: Apache-2.0
//
// cluster create: binds a cluster's name to a partition, and records the settings of the command
// line and of cluster.json.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "cli/cluster/cluster_document.hpp"
#include "cli/command_options.hpp"
#include "cli/job/job_document.hpp"
#include "cli/job/job_input.hpp"
#include "cli/job/mounts.hpp"
#include "cli/job/parameter_file.hpp"
#include "cli/job/records.hpp"
#include "cli/output/time_text.hpp"
#include "cli/policy/policy_entries.hpp"
#include "cli/verbs.hpp"
#include "job/parameter_file.hpp"
#include "job/volumes.hpp"
#include "slurm/nodes.hpp"
#include "sys/clock.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

struct NewCluster {
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
    MountOptions mounts;
    ClusterSize size;
    bool auto_storage = false;
    bool replace = false;
};

// The site policy's entry for a cluster's name. Without a policy it is empty.
job::ClusterPolicy site_cluster(const std::string& name) {
    const auto policy = load_site_policy();
    if (!policy) return {};
    const auto found = policy->clusters.find(name);
    return found == policy->clusters.end() ? job::ClusterPolicy{} : found->second;
}

// Takes the settings that the command line leaves out from the file.
void fill_in(NewCluster& args, const json& file) {
    take_text(args.vm_size, file, "vmSize");
    take_text(args.vm_priority, file, "vmPriority");
    take_text(args.user_name, file, "userAccountSettings/adminUserName");
    take_text(args.setup_task, file, "nodeSetup/setupTask/commandLine");
    take_text(args.setup_task_output, file, "nodeSetup/setupTask/stdOutErrPathPrefix");
    take_number(args.size.target, file, "scaleSettings/manual/targetNodeCount");
    if (args.size.target) return;
    take_number(args.size.target, file, "scaleSettings/autoScale/initialNodeCount");
    take_number(args.size.least, file, "scaleSettings/autoScale/minimumNodeCount");
    take_number(args.size.most, file, "scaleSettings/autoScale/maximumNodeCount");
}

// Prints a note about each key of the file that has no effect here.
void say_what_is_not_taken(const NewCluster& args, const json& file) {
    constexpr std::array<std::pair<const char*, const char*>, 5> kNotTaken{
        {{"subnet", "the site sets up its network"},
         {"nodeSetup/performanceCountersSettings", "there is no Application Insights here"},
         {"nodeSetup/setupTask/secrets", "the setup task is not run"},
         {"userAccountSettings/adminUserPassword", "the site manages its users"},
         {"userAccountSettings/adminUserSshPublicKey", "the site manages its users"}}};
    for (const auto& [path, why] : kNotTaken)
        if (!parameter(file, path).is_null())
            note(fmt::format("cluster {}: {}: {} has no effect: {}", args.name, args.file, path,
                             why));
    if (!args.setup_task.empty())
        note("cluster " + args.name +
             ": the setup task is recorded and not run: the site sets up its nodes; put the "
             "command into jobPreparation of the job file");
}

// The file's volumes and those of the options.
json volumes_of(const NewCluster& args, const json& file) {
    job::Json merged{{"mountVolumes", parameter(file, "nodeSetup/mountVolumes")}};
    merge_volumes(merged, mount_volumes(args.mounts, args.scope));
    json setup = merged;
    fill_in_account(setup["mountVolumes"], args.mounts.account);
    hide_credentials(setup);
    return setup["mountVolumes"].empty() ? json() : setup["mountVolumes"];
}

// Whether jobs will find the volumes here. If not, it says why and returns the exit code.
int check_volumes(const NewCluster& args, const json& mount_volumes) {
    if (mount_volumes.is_null()) return kOk;
    const auto volumes = job::read_volumes(mount_volumes);
    if (!volumes) return fail(kBadInput, volumes.error().in("cluster " + args.name));
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    std::vector<std::string> missing;
    for (const job::Volume& volume : *volumes) {
        const auto found = job::resolve_volume(*policy, volume);
        const bool is_named = std::any_of(policy->volumes.begin(), policy->volumes.end(),
                                          [&volume](const job::VolumePolicy& v) {
                                              return v.kind == volume.kind && v.name == volume.name;
                                          });
        // An account that is not known yet is the job's.
        if (found || (volume.account.empty() && is_named)) continue;
        const std::string why = "cluster " + args.name + ": " + found.error().message;
        if (args.auto_storage) {
            note(why + "; jobs run without it");
        } else {
            fail(kBadInput, why);
            missing.push_back(volume_entry(volume));
        }
    }
    print_missing_entries(*policy, missing);
    return missing.empty() ? kOk : kBadInput;
}

json node_setup(const NewCluster& args, const json& volumes) {
    json setup{{"mountVolumes", volumes}};
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

// publisher:offer:sku:version, or one of az's aliases.
json image_json(const NewCluster& args, const json& file) {
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

// The share and the container that `az batchai cluster create --use-auto-storage` made, and their
// mount paths.
void use_auto_storage(MountOptions& mounts) {
    mounts.share = "batchaishare";
    mounts.share_path = "autoafs";
    mounts.container = "batchaicontainer";
    mounts.container_path = "autobfs";
}

std::string already_there(const NewCluster& args) {
    return fmt::format(
        "cluster {}: already exists in workspace {} of group {}: delete it first, or give "
        "--replace",
        args.name, args.scope.workspace, args.scope.resource_group);
}

int create(const Session& session, const NewCluster& given) {
    NewCluster args = given;
    json file = json::object();
    if (!args.file.empty()) {
        auto read = read_parameters(args.file, job::check_cluster_file);
        if (!read) return kBadInput;
        file = *std::move(read);
        fill_in(args, file);
    }
    if (args.auto_storage && args.mounts.share.empty() && args.mounts.container.empty())
        use_auto_storage(args.mounts);
    auto store = open_store();  // the user's mistake before the site's
    if (!store) return fail(kEnvironment, store.error());
    const auto known = store->history.find(Resource::Kind::cluster, args.scope.resource_group,
                                           args.scope.workspace, args.name);
    if (!known) return fail(kFailed, known.error());
    if (*known && !args.replace) return fail(kFailed, already_there(args));
    const json volumes = volumes_of(args, file);
    if (const int code = check_volumes(args, volumes); code != kOk) return code;
    const auto site = site_cluster(args.name);
    const auto partition =
        slurm::find_partition(args.partition.empty() ? site.partition : args.partition);
    if (!partition) return fail(kEnvironment, partition.error());
    if (const auto wrong = wrong_size(args.size, *partition); !wrong.empty())
        return fail(kBadInput, "cluster " + args.name + ": " + wrong);
    if (auto done = remember_workspace(store->history, args.scope); !done)
        return fail(kFailed, done.error());
    say_what_is_not_taken(args, file);

    Resource resource{Resource::Kind::cluster, args.scope.resource_group, args.scope.workspace,
                      args.name, json::object()};
    const std::string vm_size = args.vm_size.empty() ? site.vm_size : args.vm_size;
    resource.document = {{"creationTime", iso_time(sys::wall_clock())},
                         {"nodeSetup", node_setup(args, volumes)},
                         {"partition", partition->name},
                         {"target", args.size.target.value_or(0)},
                         {"virtualMachine", image_json(args, file)},
                         {"vmPriority", args.vm_priority.empty() ? "dedicated" : args.vm_priority},
                         {"vmSize", vm_size_text(vm_size)}};
    if (args.size.least) resource.document["autoScale"] = auto_scale_json(args.size);
    if (!site.gres.empty()) resource.document["gres"] = site.gres;
    if (!args.user_name.empty()) resource.document["userName"] = args.user_name;
    if (auto done = store->history.put(resource); !done) return fail(kFailed, done.error());
    return print_cluster(session, *store, resource);
}

}  // namespace

void add_cluster_create(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "create", "bind a cluster's name to a partition",
                              "batchai cluster create -g mygroup -w mywork -n nc6cluster "
                              "--vm-size Standard_NC6 --target 4");
    const auto args = std::make_shared<NewCluster>();
    add_arm_name(*verb, "-n,--name", args->name, args->scope, kName, "cluster");
    add_workspace_options(*verb, args->scope);
    verb->add_option("-f,--config-file", args->file, "cluster.json; options count before it");
    verb->add_option("--partition", args->partition,
                     "partition; left out: the site policy's, else Slurm's default");
    add_target(*verb, args->size, "nodes that are wanted, at most the partition's");
    add_range(*verb, args->size);
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
    verb->add_flag("--replace", args->replace, "replace the record of a cluster of that name");
    verb->add_flag("--use-auto-storage", args->auto_storage,
                   "mount batchaishare at autoafs and batchaicontainer at autobfs");
    ignore_options(*verb, {"--custom-image", "-k,--ssh-key", "-p,--password",
                           "--storage-account-key", "--subnet", "-l,--location"});
    ignore_flags(*verb, {"--generate-ssh-keys", "--no-wait"});
    set_action(*verb, session, args, create);
}

}  // namespace batchai::cli
