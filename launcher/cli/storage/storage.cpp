// SPDX-License-Identifier: Apache-2.0
//
// storage account, share, directory: names that the site policy gives a meaning.
#include <memory>

#include "launcher/cli/command_options.hpp"
#include "launcher/cli/history/records.hpp"
#include "launcher/cli/job/jobs.hpp"
#include "launcher/cli/output/time_text.hpp"
#include "launcher/cli/storage/shares.hpp"
#include "launcher/cli/verbs.hpp"
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

int create_account(const Session& session, const AccountArgs& args) {
    auto store = open_store();
    if (!store) return fail(kEnvironment, store.error());
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
    if (auto done = store->history.put(account); !done) return fail(kFailed, done.error());
    return session.print(account.document);
}

// The share must be one of the site's: nothing is created.
int create_share(const Session& session, const ShareArgs& args) {
    return with_policy_share(args.share, [&](const job::VolumePolicy&) {
        return session.print({{"created", true}});
    });
}

int create_directory(const Session& session, const ShareArgs& args) {
    return with_share(args.share, [&](const ShareFiles& files) {
        const auto made = files.make_directory(args.directory);
        if (!made) return fail(kFailed, made.error());
        return session.print({{"created", *made}});
    });
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
    verb->callback([args, &session] {
        session.action = [args, &session] { return create_account(session, *args); };
    });
}

void add_share(CLI::App& parent, Session& session) {
    CLI::App* verb =
        add_verb(parent, session, "create", "see that a share is one of the site policy's",
                 "batchai storage share create --name myshare --account-name mystorageaccount");
    const auto args = std::make_shared<ShareArgs>();
    add_share_options(*verb, args->share, "-n,--name");
    ignore_options(*verb, {"--quota", "--metadata"});
    verb->callback([args, &session] {
        session.action = [args, &session] { return create_share(session, *args); };
    });
}

void add_directory(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "create", "make a directory on a share",
                              "batchai storage directory create --share-name myshare --name cifar");
    const auto args = std::make_shared<ShareArgs>();
    verb->add_option("-n,--name", args->directory, "directory")->check(kDirectory)->required();
    add_share_options(*verb, args->share, "-s,--share-name");
    ignore_options(*verb, {"--metadata"});
    verb->callback([args, &session] {
        session.action = [args, &session] { return create_directory(session, *args); };
    });
}

}  // namespace

void add_storage(CLI::App& parent, Session& session) {
    const auto noun = [&parent](const char* name, const char* description) -> CLI::App& {
        return *parent.add_subcommand(name, description)->require_subcommand(1);
    };
    add_account(noun("account", "storage accounts: names"), session);
    add_share(noun("share", "shares of the site"), session);
    add_directory(noun("directory", "directories on a share"), session);
    add_storage_files(noun("file", "files on a share"), session);
}

}  // namespace batchai::cli
