// SPDX-License-Identifier: Apache-2.0
//
// storage account, share, container, directory: names to which the site policy gives a directory.
#include <fnmatch.h>

#include <memory>

#include "cli/command_options.hpp"
#include "cli/job/job_input.hpp"
#include "cli/job/records.hpp"
#include "cli/output/result_table.hpp"
#include "cli/output/time_text.hpp"
#include "cli/storage/shares.hpp"
#include "cli/verbs.hpp"
#include "sys/clock.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

struct AccountArgs {
    Scope scope;
    std::string name;
    std::string location;
    std::string sku;
};

struct ShareArgs {
    ShareName share;
    std::string directory;
};

int create_account(const Session& session, Store& store, const AccountArgs& args) {
    const Resource account{
        Resource::Kind::account,
        args.scope.resource_group,
        "",
        args.name,
        {{"creationTime", iso_time(sys::wall_clock())},
         {"id", "/subscriptions/slurm/resourceGroups/" + args.scope.resource_group +
                    "/providers/Microsoft.Storage/storageAccounts/" + args.name},
         {"location", args.location.empty() ? "slurm" : args.location},
         {"name", args.name},
         {"provisioningState", "Succeeded"},
         {"resourceGroup", args.scope.resource_group},
         {"sku", {{"name", args.sku}}},
         {"type", "Microsoft.Storage/storageAccounts"}}};
    if (auto done = store.history.put(account); !done) return fail(kFailed, done.error());
    return session.print(account.document);
}

// There are no keys here. The text stands for one, because scripts pass it to options that ignore
// it.
int list_keys(const Session& session, const AccountArgs&) {
    auto keys = nlohmann::json::array();
    for (const char* name : {"key1", "key2"})
        keys.push_back({{"keyName", name}, {"permissions", "Full"}, {"value", "not-needed"}});
    return session.print(keys);
}

int show_connection(const Session& session, const AccountArgs& args) {
    return session.print({{"connectionString", "AccountName=" + args.name}});
}

// Creates nothing: the site policy must have the share.
int create_share(const Session& session, const ShareArgs& args) {
    return with_policy_share(args.share, [&](const job::VolumePolicy&) {
        return session.print({{"created", true}});
    });
}

// Whether the policy has the share or container.
int exists(const Session& session, const ShareArgs& args) {
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    const bool is_known = job::resolve_volume(*policy, volume_of(args.share)).has_value();
    return session.print({{"exists", is_known}});
}

// The policy's shares or containers: their names and their directories on this machine.
int list(const Session& session, const ShareArgs& args) {
    const auto policy = load_site_policy();
    if (!policy) return fail(kEnvironment, policy.error());
    auto result = nlohmann::json::array();
    for (const job::VolumePolicy& share : policy->volumes) {
        const bool of_account =
            args.share.account.empty() ||
            ::fnmatch(share.account.c_str(), args.share.account.c_str(), 0) == 0;
        if (share.kind != args.share.kind || !of_account) continue;
        const nlohmann::json path =
            share.login_path.empty() ? nlohmann::json() : nlohmann::json(share.login_path);
        result.push_back({{"metadata", nullptr},
                          {"name", share.name},
                          {"properties", {{"lastModified", nullptr}, {"quota", nullptr}}},
                          {"slurm", {{"account", share.account}, {"loginPath", path}}}});
    }
    return session.print(result, [](const nlohmann::json& rows) {
        return table_of(
            rows,
            {{"Name", "name"}, {"Account", "slurm/account"}, {"Path here", "slurm/loginPath"}});
    });
}

int create_directory(const Session& session, const ShareArgs& args, const ShareFiles& files) {
    const auto made = files.make_directory(args.directory);
    if (!made) return fail(kFailed, made.error());
    return session.print({{"created", *made}});
}

int directory_exists(const Session& session, const ShareArgs& args, const ShareFiles& files) {
    return session.print({{"exists", files.is_directory(args.directory)}});
}

int list_directories(const Session& session, const ShareArgs& args, const ShareFiles& files) {
    const auto entries = files.list(args.directory);
    if (!entries) return fail(kFailed, entries.error());
    json result = json::array();
    for (const auto& entry : *entries)
        if (entry.is_directory) result.push_back({{"name", entry.name}, {"type", "dir"}});
    return session.print(result);
}

int delete_directory(const Session& session, const ShareArgs& args, const ShareFiles& files) {
    const auto gone = files.remove_directory(args.directory);
    if (!gone) return fail(kFailed, gone.error());
    return session.print({{"deleted", *gone}});
}

void add_account(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "create", "record a storage account",
                              "batchai storage account create -g mygroup -n mystorageaccount");
    const auto args = std::make_shared<AccountArgs>();
    verb->add_option("-n,--name", args->name, "account")->check(kName)->required();
    add_group_option(*verb, args->scope);
    verb->add_option("-l,--location", args->location, "remembered and shown");
    args->sku = "Standard_LRS";
    verb->add_option("--sku", args->sku, "remembered and shown");
    ignore_options(*verb, {"--kind", "--tags", "--access-tier"});
    set_store_action(*verb, session, args, create_account);

    verb = add_verb(parent, session, "show-connection-string", "the account's name, no secret",
                    "batchai storage account show-connection-string -n mystorageaccount");
    verb->add_option("-n,--name", args->name, "account")->check(kName)->required();
    add_group_option(*verb, args->scope);
    set_action(*verb, session, args, show_connection);

    CLI::App* keys = parent.add_subcommand("keys", "keys of an account")->require_subcommand(1);
    verb = add_verb(*keys, session, "list", "names of keys; shares need none here",
                    "batchai storage account keys list -n mystorageaccount");
    verb->add_option("-n,--account-name", args->name, "account")->check(kName)->required();
    add_group_option(*verb, args->scope);
    set_action(*verb, session, args, list_keys);
}

// share create|list and container create|list.
void add_shares(CLI::App& parent, Session& session, job::Volume::Kind kind) {
    const bool is_share = kind == job::Volume::Kind::share;
    const std::string noun = is_share ? "share" : "container";
    const std::string command = "batchai storage " + noun + " ";
    const auto args = std::make_shared<ShareArgs>();
    args->share.kind = kind;

    CLI::App* verb =
        add_verb(parent, session, "create", "see that a " + noun + " is one of the site policy's",
                 command + "create --name my" + noun + " --account-name mystorageaccount");
    add_share_options(*verb, args->share, "-n,--name");
    ignore_options(*verb, {"--quota", "--metadata", "--public-access"});
    ignore_flags(*verb, {"--fail-on-exist"});
    set_action(*verb, session, args, create_share);

    verb = add_verb(parent, session, "exists", "print whether the site policy has it",
                    command + "exists --name my" + noun + " --account-name mystorageaccount");
    add_share_options(*verb, args->share, "-n,--name");
    set_action(*verb, session, args, exists);

    verb = add_verb(parent, session, "list", "the " + noun + "s of the site policy",
                    command + "list -o table");
    add_account_options(*verb, args->share.account);
    set_action(*verb, session, args, list);
}

using DirectoryAction = int (*)(const Session&, const ShareArgs&, const ShareFiles&);

void add_directory(CLI::App& parent, Session& session, const std::string& name,
                   const std::string& description, DirectoryAction action) {
    CLI::App* verb =
        add_verb(parent, session, name, description,
                 "batchai storage directory " + name + " --share-name myshare --name cifar");
    const auto args = std::make_shared<ShareArgs>();
    CLI::Option* option = verb->add_option("-n,--name", args->directory, "directory");
    if (action == list_directories)
        option->check(kSharePath);
    else
        option->check(kDirectory)->required();
    add_share_options(*verb, args->share, "-s,--share-name");
    ignore_options(*verb, {"--metadata"});
    ignore_flags(*verb, {"--fail-on-exist"});
    set_share_action(*verb, session, args, action);
}

}  // namespace

void add_storage(CLI::App& parent, Session& session) {
    const auto noun = [&parent](const char* name, const char* description) -> CLI::App& {
        return *parent.add_subcommand(name, description)->require_subcommand(1);
    };
    add_account(noun("account", "storage accounts: names"), session);
    add_shares(noun("share", "shares of the site"), session, job::Volume::Kind::share);
    add_shares(noun("container", "blob containers of the site"), session,
               job::Volume::Kind::blob_container);
    CLI::App& directory = noun("directory", "directories on a share");
    add_directory(directory, session, "create", "make a directory on a share", create_directory);
    add_directory(directory, session, "exists", "print whether a directory exists",
                  directory_exists);
    add_directory(directory, session, "list", "the directories in one", list_directories);
    add_directory(directory, session, "delete", "delete an empty directory", delete_directory);
    add_storage_files(noun("file", "files on a share"), session);
    add_storage_blobs(noun("blob", "files of a blob container"), session);
}

}  // namespace batchai::cli
