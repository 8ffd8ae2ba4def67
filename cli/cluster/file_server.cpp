// SPDX-License-Identifier: Apache-2.0
//
// file-server create, show, list, delete. A file server is a [[file_server]] of the site policy; no
// machine is made.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "cli/command_options.hpp"
#include "cli/job/job_document.hpp"
#include "cli/job/job_input.hpp"
#include "cli/job/jobs.hpp"
#include "cli/job/parameter_file.hpp"
#include "cli/job/records.hpp"
#include "cli/output/result_table.hpp"
#include "cli/output/time_text.hpp"
#include "cli/storage/shares.hpp"
#include "cli/verbs.hpp"
#include "job/parameter_file.hpp"
#include "sys/clock.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

struct ServerArgs {
    Scope scope;
    std::string name;
    std::string file;
    std::string vm_size;
    std::string user_name;
    std::string sku;
    std::string caching;
    std::optional<int> disk_count;
    std::optional<int> disk_size;
    bool replace = false;
    bool yes = false;
};

json or_null(const std::string& text) {
    return text.empty() ? json() : json(text);
}

json or_null(const std::optional<int>& number) {
    return number ? json(*number) : json();
}

// HOST of "HOST:/EXPORT"; null for a directory.
json host_of(const job::VolumePolicy& server) {
    const std::string& source = server.file_system.source;
    const auto colon = source.find(":/");
    return colon == std::string::npos ? json() : json(source.substr(0, colon));
}

json document_of(const Resource& resource, const job::VolumePolicy& server) {
    job::Identity identity;
    identity.resource_group = resource.resource_group;
    identity.workspace = resource.workspace;
    const json& record = resource.document;
    return {{"creationTime", record.value("creationTime", json())},
            {"dataDisks",
             {{"cachingType", record.value("caching", json())},
              {"diskCount", record.value("diskCount", json())},
              {"diskSizeInGb", record.value("diskSize", json())},
              {"storageAccountType", record.value("sku", json())}}},
            {"id", workspace_id(identity) + "/fileservers/" + resource.name},
            {"mountSettings",
             {{"fileServerInternalIp", host_of(server)},
              {"fileServerPublicIp", nullptr},
              {"mountPoint", server.file_system.source}}},
            {"name", resource.name},
            {"provisioningState", "succeeded"},
            {"provisioningStateTransitionTime", record.value("creationTime", json())},
            {"resourceGroup", resource.resource_group},
            {"slurm", {{"loginPath", or_null(server.login_path)}}},
            {"sshConfiguration",
             {{"publicIpsToAllow", nullptr},
              {"userAccountSettings",
               {{"adminUserName", record.value("userName", json())},
                {"adminUserPassword", nullptr},
                {"adminUserSshPublicKey", nullptr}}}}},
            {"subnet", nullptr},
            {"type", "Microsoft.BatchAI/workspaces/fileservers"},
            {"vmSize", record.value("vmSize", json())}};
}

Table server_table(const json& documents) {
    json rows = documents.is_array() ? documents : json::array({documents});
    for (auto& row : rows) {
        const json& disks = row["dataDisks"];
        if (disks["diskCount"].is_number() && disks["diskSizeInGb"].is_number())
            row["disks"] = fmt::format("{} x {} Gb", disks["diskCount"].get<int>(),
                                       disks["diskSizeInGb"].get<int>());
    }
    return table_of(rows, {{"Name", "name"},
                           {"Resource Group", "resourceGroup"},
                           {"Size", "vmSize"},
                           {"Disks", "disks"},
                           {"Public IP", "mountSettings/fileServerPublicIp"},
                           {"Internal IP", "mountSettings/fileServerInternalIp"},
                           {"Mount Point", "mountSettings/mountPoint"}});
}

// False: the file is wrong, and it has said how.
bool fill_in(ServerArgs& args) {
    if (args.file.empty()) return true;
    const auto file = read_parameters(args.file, job::check_file_server_file);
    if (!file) return false;
    take_text(args.vm_size, *file, "vmSize");
    take_text(args.sku, *file, "dataDisks/storageAccountType");
    take_text(args.caching, *file, "dataDisks/cachingType");
    take_text(args.user_name, *file, "sshConfiguration/userAccountSettings/adminUserName");
    take_number(args.disk_count, *file, "dataDisks/diskCount");
    take_number(args.disk_size, *file, "dataDisks/diskSizeInGB");
    return true;
}

ShareName policy_name(const std::string& name) {
    return {job::Volume::Kind::file_server, "", name};
}

sys::Result<std::optional<Resource>> find(Store& store, const ServerArgs& args) {
    return store.history.find(Resource::Kind::file_server, args.scope.resource_group,
                              args.scope.workspace, args.name);
}

int create(const Session& session, const ServerArgs& given) {
    ServerArgs args = given;
    if (!fill_in(args)) return kBadInput;
    auto store = open_store();  // the user's mistake before the site's
    if (!store) return fail(kEnvironment, store.error());
    const auto known = find(*store, args);
    if (!known) return fail(kFailed, known.error());
    if (*known && !args.replace)
        return fail(kFailed,
                    fmt::format("file server {}: already exists in workspace {} of group "
                                "{}: delete it first, or give --replace",
                                args.name, args.scope.workspace, args.scope.resource_group));
    return with_policy_share(policy_name(args.name), [&](const job::VolumePolicy& server) -> int {
        if (auto done = remember_workspace(store->history, args.scope); !done)
            return fail(kFailed, done.error());
        const Resource resource{Resource::Kind::file_server,
                                args.scope.resource_group,
                                args.scope.workspace,
                                args.name,
                                {{"caching", or_null(args.caching)},
                                 {"creationTime", iso_time(sys::wall_clock())},
                                 {"diskCount", or_null(args.disk_count)},
                                 {"diskSize", or_null(args.disk_size)},
                                 {"sku", or_null(args.sku)},
                                 {"userName", or_null(args.user_name)},
                                 {"vmSize", or_null(args.vm_size)}}};
        if (auto done = store->history.put(resource); !done) return fail(kFailed, done.error());
        return session.print(document_of(resource, server), server_table);
    });
}

int show(const Session& session, Store& store, const ServerArgs& args) {
    const auto found = find(store, args);
    if (!found) return fail(kFailed, found.error());
    const Resource unnamed{Resource::Kind::file_server, args.scope.resource_group,
                           args.scope.workspace, args.name, json::object()};
    return with_policy_share(policy_name(args.name), [&](const job::VolumePolicy& server) {
        return session.print(document_of(found->value_or(unnamed), server), server_table);
    });
}

// The site policy's file servers, each with what the user has recorded about it.
int list(const Session& session, Store& store, const ServerArgs& args) {
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    std::vector<Resource> of_site;
    std::map<std::string, const job::VolumePolicy*> servers;
    for (const job::VolumePolicy& server : policy->volumes) {
        if (server.kind != job::Volume::Kind::file_server) continue;
        of_site.push_back(
            {Resource::Kind::file_server, "default", "default", server.name, json::object()});
        servers.emplace(server.name, &server);
    }
    const auto document = [&](const Resource& resource) -> sys::Result<json> {
        const auto server = servers.find(resource.name);
        return server == servers.end() ? json() : document_of(resource, *server->second);
    };
    return list_resources(session, store, args.scope, Resource::Kind::file_server, of_site,
                          document, server_table);
}

int remove(const Session&, Store& store, const ServerArgs& args) {
    const auto found = find(store, args);
    if (!found) return fail(kFailed, found.error());
    if (!*found)
        return fail(kBadInput,
                    "file server " + args.name + ": not found: see 'batchai file-server list'");
    if (!confirmed(args.yes, "Delete the record of file server " + args.name + "?")) return kFailed;
    const auto removed = store.history.remove(**found);
    return removed ? kOk : fail(kFailed, removed.error());
}

std::shared_ptr<ServerArgs> add_server_name(CLI::App& verb) {
    const auto args = std::make_shared<ServerArgs>();
    add_arm_name(verb, "-n,--name,--ids", args->name, args->scope, kName, "file server");
    add_workspace_options(verb, args->scope);
    return args;
}

}  // namespace

void add_file_servers(CLI::App& parent, Session& session) {
    constexpr int kMostDisks = 1'000'000;
    CLI::App* verb =
        add_verb(parent, session, "create", "see that a file server is one of the site policy's",
                 "batchai file-server create -g mygroup -w mywork -n nfs1 -s Standard_D2_V2");
    auto args = add_server_name(*verb);
    set_action(*verb, session, args, create);
    verb->add_option("-f,--config-file", args->file, "nfs.json; options count before it");
    verb->add_option("-s,--vm-size", args->vm_size, "remembered and shown");
    verb->add_option("--disk-count", args->disk_count, "remembered and shown")
        ->check(number_from(1, kMostDisks));
    verb->add_option("--disk-size", args->disk_size, "remembered and shown")
        ->check(number_from(1, kMostDisks));
    verb->add_option("--storage-sku", args->sku, "remembered and shown");
    verb->add_option("--caching-type", args->caching, "remembered and shown");
    verb->add_option("-u,--user-name", args->user_name, "remembered and shown");
    verb->add_flag("--replace", args->replace, "replace the record of a file server of that name");
    ignore_options(*verb, {"-k,--ssh-key", "-p,--password", "--subnet", "-l,--location"});
    ignore_flags(*verb, {"--generate-ssh-keys", "--no-wait"});

    verb = add_verb(parent, session, "show", "a file server and where it is mounted from",
                    "batchai file-server show -n nfs1 -o table");
    args = add_server_name(*verb);
    set_store_action(*verb, session, args, show);

    verb = add_verb(parent, session, "list", "the file servers of the site policy",
                    "batchai file-server list -o table");
    const auto all = std::make_shared<ServerArgs>();
    all->scope = {"", "", ""};
    add_workspace_options(*verb, all->scope);
    set_store_action(*verb, session, all, list);

    verb = add_verb(parent, session, "delete", "delete the record; the server stays",
                    "batchai file-server delete -n nfs1 --yes");
    args = add_server_name(*verb);
    set_store_action(*verb, session, args, remove);
    verb->add_flag("-y,--yes", args->yes, "do not ask");
    ignore_flags(*verb, {"--no-wait"});
}

}  // namespace batchai::cli
