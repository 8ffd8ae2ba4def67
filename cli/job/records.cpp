// SPDX-License-Identifier: Apache-2.0
#include "cli/job/records.hpp"

#include <filesystem>
#include <memory>
#include <set>

#include "cli/command_options.hpp"
#include "cli/job/job_document.hpp"
#include "cli/job/job_end.hpp"
#include "cli/output/result_table.hpp"
#include "cli/output/time_text.hpp"
#include "cli/verbs.hpp"
#include "sys/clock.hpp"

namespace batchai::cli {
namespace {

using Kind = Resource::Kind;
using nlohmann::json;

// The differences between the nouns that the four verbs handle.
struct Noun {
    Kind kind;
    std::vector<TableColumn> columns;
};

const Noun& noun(Kind kind) {
    static const Noun group{
        Kind::group,
        {{"Name", "name"}, {"Location", "location"}, {"Status", "properties/provisioningState"}}};
    static const Noun workspace{Kind::workspace,
                                {{"Name", "name"},
                                 {"Resource Group", "resourceGroup"},
                                 {"Location", "location"},
                                 {"State", "provisioningState"}}};
    static const Noun experiment{Kind::experiment,
                                 {{"Name", "name"},
                                  {"Resource Group", "resourceGroup"},
                                  {"Workspace", "workspace"},
                                  {"State", "provisioningState"}}};
    return kind == Kind::group ? group : kind == Kind::workspace ? workspace : experiment;
}

struct RecordArgs {
    Scope scope;
    std::string name;
    std::string location;
    EndOptions end;
};

// The service's id of the resource.
std::string id_of(const Resource& resource) {
    std::string id = "/subscriptions/slurm/resourceGroups/" + resource.resource_group;
    if (resource.kind == Kind::group) return id;
    id += "/providers/Microsoft.BatchAI/workspaces/";
    if (resource.kind == Kind::workspace) return id + resource.name;
    return id + resource.workspace + "/experiments/" + resource.name;
}

json document_of(const Resource& resource) {
    json document = resource.document;
    document["id"] = id_of(resource);
    document["name"] = resource.name;
    if (resource.kind == Kind::group) {
        document["managedBy"] = nullptr;
        document["properties"] = {{"provisioningState", "Succeeded"}};
        document["tags"] = nullptr;
        return document;
    }
    document["provisioningState"] = "succeeded";
    document["resourceGroup"] = resource.resource_group;
    if (resource.kind == Kind::workspace) {
        document["type"] = "Microsoft.BatchAI/workspaces";
    } else {
        document["type"] = "Microsoft.BatchAI/workspaces/experiments";
    }
    return document;
}

Table noun_table(Kind kind, const json& result) {
    json rows = result.is_array() ? result : json::array({result});
    for (auto& row : rows) row["workspace"] = workspace_of(row.value("id", ""));
    return table_of(rows, noun(kind).columns);
}

// The resource that the options name, with an empty document.
Resource resource_of(Kind kind, const RecordArgs& args) {
    Resource resource{kind, args.scope.resource_group, "", args.name, json::object()};
    if (kind == Kind::group) resource.resource_group = args.name;
    if (kind == Kind::experiment) resource.workspace = args.scope.workspace;
    return resource;
}

JobFilter jobs_of(const Resource& resource) {
    JobFilter filter{resource.resource_group, resource.workspace, "", "", ""};
    if (resource.kind == Kind::workspace) filter.workspace = resource.name;
    if (resource.kind == Kind::experiment) filter.experiment = resource.name;
    return filter;
}

sys::Result<Resource> record(History& history, Resource resource, const std::string& location) {
    auto known =
        history.find(resource.kind, resource.resource_group, resource.workspace, resource.name);
    if (!known) return known.error();
    if (*known) return **std::move(known);
    resource.document["creationTime"] = iso_time(sys::wall_clock());
    if (resource.kind != Kind::experiment)
        resource.document["location"] = location.empty() ? "slurm" : location;
    if (auto done = history.put(resource); !done) return done.error();
    return resource;
}

// Records the levels above a kind that the history does not have yet.
sys::Result<void> record_parents(History& history, Kind kind, const Scope& scope) {
    if (kind == Kind::group) return {};
    const auto& group = scope.resource_group;
    auto done = record(history, {Kind::group, group, "", group, json::object()}, "");
    if (done && kind == Kind::experiment)
        done = record(history, {Kind::workspace, group, "", scope.workspace, json::object()}, "");
    if (!done) return done.error();
    return {};
}

int create(const Session& session, Store& store, Kind kind, const RecordArgs& args) {
    if (auto done = record_parents(store.history, kind, args.scope); !done)
        return fail(kFailed, done.error());
    auto resource = record(store.history, resource_of(kind, args), args.location);
    if (!resource) return fail(kFailed, resource.error());
    return session.print(document_of(*resource));
}

sys::Result<Resource> find(Store& store, Kind kind, const RecordArgs& args) {
    const Resource wanted = resource_of(kind, args);
    auto found = store.history.find(kind, wanted.resource_group, wanted.workspace, wanted.name);
    if (!found) return found.error();
    if (*found) return **std::move(found);
    return sys::Error{std::string(kind_name(kind)) + " " + args.name +
                      ": not found: see 'batchai " + kind_name(kind) + " list'"};
}

int show(const Session& session, Store& store, Kind kind, const RecordArgs& args) {
    const auto resource = find(store, kind, args);
    if (!resource) return fail(kBadInput, resource.error());
    return session.print(document_of(*resource),
                         [kind](const json& result) { return noun_table(kind, result); });
}

int exists(const Session& session, Store& store, Kind kind, const RecordArgs& args) {
    const Resource wanted = resource_of(kind, args);
    const auto found =
        store.history.find(kind, wanted.resource_group, wanted.workspace, wanted.name);
    return found ? session.print(found->has_value()) : fail(kFailed, found.error());
}

int list(const Session& session, Store& store, Kind kind, const RecordArgs& args) {
    return list_resources(
        session, store, args.scope, kind, {},
        [](const Resource& resource) -> sys::Result<json> { return document_of(resource); },
        [kind](const json& result) { return noun_table(kind, result); });
}

// Ends the jobs in it, as the service did, and removes records only, no files on a share.
int remove(const Session&, Store& store, Kind kind, const RecordArgs& args) {
    const auto resource = find(store, kind, args);
    if (!resource) return fail(kBadInput, resource.error());
    const auto jobs = find_jobs(store, jobs_of(*resource));
    if (!jobs) return fail(kFailed, jobs.error());
    const int code = end_jobs(store, *jobs, Reach::whole_arrays, Ending::erase, args.end,
                              "Delete the records of " + std::string(kind_name(kind)) + " " +
                                  args.name + "? Files on shares stay.");
    if (code != kOk) return code;
    if (auto done = store.history.remove(*resource); !done) return fail(kFailed, done.error());
    return kOk;
}

// The options that name the resource.
void add_name(CLI::App& verb, Kind kind, RecordArgs& args) {
    switch (kind) {
        case Kind::group:
            add_arm_name(verb, "-n,--name,-g,--resource-group,--ids", args.name, args.scope,
                         kGroupName, "its name");
            break;
        case Kind::workspace:
            add_arm_name(verb, "-n,--name,-w,--workspace,--ids", args.name, args.scope, kName,
                         "its name");
            add_group_option(verb, args.scope);
            break;
        default:
            add_arm_name(verb, "-n,--name,-e,--experiment,--ids", args.name, args.scope, kName,
                         "its name");
            add_workspace_options(verb, args.scope);
    }
}

void add_noun_verbs(CLI::App& parent, Session& session, Kind kind) {
    const std::string name = kind_name(kind);
    const std::string one = (kind == Kind::experiment ? "an " : "a ") + name;
    const std::string command = "batchai " + name + " ";
    const std::string sample = kind == Kind::group       ? " --name mygroup"
                               : kind == Kind::workspace ? " -g mygroup --workspace mywork"
                                                         : " -g mygroup -w mywork --name cifar";
    const auto args = std::make_shared<RecordArgs>();
    CLI::App* verb = nullptr;
    const auto set = [&](const std::shared_ptr<RecordArgs>& given,
                         int (*action)(const Session&, Store&, Kind, const RecordArgs&)) {
        set_store_action(*verb, session, given,
                         [=](const Session& own, Store& store, const RecordArgs& from) {
                             return action(own, store, kind, from);
                         });
    };

    verb = add_verb(parent, session, "create", "record " + one, command + "create" + sample);
    add_name(*verb, kind, *args);
    verb->add_option("-l,--location", args->location, "remembered and shown");
    ignore_options(*verb, {"--tags", "--managed-by"});
    set(args, create);

    verb = add_verb(parent, session, "show", "show " + one, command + "show" + sample);
    add_name(*verb, kind, *args);
    set(args, show);

    if (kind == Kind::group) {
        verb =
            add_verb(parent, session, "exists", "print true or false", command + "exists" + sample);
        add_name(*verb, kind, *args);
        set(args, exists);
    }

    verb = add_verb(parent, session, "list", "list them", command + "list -o table");
    const auto all = std::make_shared<RecordArgs>(RecordArgs{Scope{"", "", ""}, "", "", {}});
    if (kind == Kind::experiment)
        add_workspace_options(*verb, all->scope);
    else if (kind == Kind::workspace)
        add_group_option(*verb, all->scope);
    set(all, list);

    verb = add_verb(parent, session, "delete",
                    "end the jobs in it, delete the records, never files on a share",
                    command + "delete" + sample + " --yes");
    add_name(*verb, kind, *args);
    add_end_options(*verb, args->end);
    set(args, remove);
}

}  // namespace

sys::Result<void> remember_workspace(History& history, const Scope& scope) {
    return record_parents(history, Kind::experiment, scope);
}

sys::Result<void> remember_scope(History& history, const Scope& scope) {
    if (auto done = remember_workspace(history, scope); !done) return done.error();
    const auto done = record(
        history,
        {Kind::experiment, scope.resource_group, scope.workspace, scope.experiment, json::object()},
        "");
    if (!done) return done.error();
    return {};
}

int list_resources(const Session& session, Store& store, const Scope& scope, Kind kind,
                   const std::vector<Resource>& of_site,
                   const std::function<sys::Result<json>(const Resource&)>& document,
                   const TableMaker& table) {
    auto all = store.history.list(kind, scope.resource_group, scope.workspace);
    if (!all) return fail(kFailed, all.error());
    std::set<std::string> recorded;
    for (const Resource& resource : *all) recorded.insert(resource.name);
    for (const Resource& resource : of_site)
        if (recorded.count(resource.name) == 0) all->push_back(resource);
    json documents = json::array();
    for (const Resource& resource : *all) {
        const auto shown = document(resource);
        if (!shown) return fail(kEnvironment, shown.error());
        if (!shown->is_null()) documents.push_back(*shown);
    }
    return session.print(documents, table);
}

void add_groups(CLI::App& parent, Session& session) {
    add_noun_verbs(parent, session, Kind::group);
}
void add_workspaces(CLI::App& parent, Session& session) {
    add_noun_verbs(parent, session, Kind::workspace);
}
void add_experiments(CLI::App& parent, Session& session) {
    add_noun_verbs(parent, session, Kind::experiment);
}

}  // namespace batchai::cli
