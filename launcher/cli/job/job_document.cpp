// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/job/job_document.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "job/layout.hpp"
#include "job/toolkit/toolkit.hpp"
#include "launcher/cli/job/preparation_progress.hpp"
#include "launcher/cli/output/result_table.hpp"
#include "launcher/cli/output/time_text.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 8> kOtherKeys{"containerSettings", "environmentVariables",
                                                "inputDirectories",  "jobPreparation",
                                                "mountVolumes",      "nodeCount",
                                                "outputDirectories", "stdOutErrPathPrefix"};

constexpr std::array<std::string_view, 3> kSecretKeys{"accountKey", "password",
                                                      "adminUserPassword"};

// What the service filled in.
json default_constraints() {
    return {{"maxWallClockTime", "7 days, 0:00:00"}};
}

json time_or_null(const std::optional<double>& time) {
    return time ? json(iso_time(*time)) : json();
}

json secret_names(const json& properties) {
    const auto secrets = properties.find("secrets");
    if (secrets == properties.end() || !secrets->is_array()) return nullptr;
    json names = json::array();
    for (const auto& secret : *secrets) names.push_back({{"name", secret.value("name", "")}});
    return names;
}

json execution_info(const Execution& execution) {
    if (!execution.start_time && !execution.over()) return nullptr;
    json errors;  // null where there are none
    for (const auto& error : execution.errors) {
        json details;
        if (!error.node.empty()) details = {{{"name", "Node"}, {"value", error.node}}};
        errors.push_back({{"code", error.code}, {"message", error.message}, {"details", details}});
    }
    return {{"startTime", time_or_null(execution.start_time)},
            {"endTime", time_or_null(execution.end_time)},
            {"exitCode", execution.exit_code ? json(*execution.exit_code) : json()},
            {"errors", errors}};
}

void add_toolkit(json& document, const json& properties) {
    document["toolType"] = nullptr;
    for (const job::Toolkit& toolkit : job::toolkits()) {
        const std::string name = toolkit.key;
        json settings = properties.value(name, json());
        if (!settings.is_null()) {
            document["toolType"] = toolkit.type;
            if (toolkit.has_process_count && !settings.contains("processCount"))
                settings["processCount"] = properties.value("nodeCount", json());
        }
        document[name] = std::move(settings);
    }
}

json cluster_reference(const job::Identity& identity) {
    if (identity.cluster.empty()) return nullptr;
    return {{"id", workspace_id(identity) + "/clusters/" + identity.cluster},
            {"resourceGroup", identity.resource_group}};
}

}  // namespace

void hide_credentials(json& value) {
    if (value.is_array())
        for (auto& item : value) hide_credentials(item);
    if (!value.is_object()) return;
    for (auto& [key, item] : value.items()) {
        if (std::find(kSecretKeys.begin(), kSecretKeys.end(), key) != kSecretKeys.end())
            item = nullptr;
        else
            hide_credentials(item);
    }
}

std::string workspace_id(const job::Identity& identity) {
    return "/subscriptions/" + identity.subscription + "/resourceGroups/" +
           identity.resource_group + "/providers/Microsoft.BatchAI/workspaces/" +
           identity.workspace;
}

json job_document(const JobRow& row, const Execution& execution, const json& snapshot,
                  const json& preparation) {
    const auto& identity = row.identity;
    json properties =
        snapshot.is_object() ? snapshot.value("properties", json::object()) : json::object();
    const json secrets = secret_names(properties);
    hide_credentials(properties);

    json document{{"cluster", cluster_reference(identity)},
                  {"constraints", properties.value("constraints", default_constraints())},
                  {"creationTime", iso_time(row.created)},
                  {"executionInfo", execution_info(execution)},
                  {"executionState", state_name(execution.state)},
                  {"experimentName", identity.experiment},
                  {"id", workspace_id(identity) + "/experiments/" + identity.experiment + "/jobs/" +
                             identity.name},
                  {"jobOutputDirectoryPathSegment", job::output_segment(identity)},
                  {"name", identity.name},
                  {"preparation", preparation},
                  {"provisioningState", "succeeded"},
                  {"provisioningStateTransitionTime", iso_time(row.created)},
                  {"resourceGroup", identity.resource_group},
                  {"schedulingPriority", "normal"},
                  {"secrets", secrets},
                  {"slurmReason", execution.waits_for.empty() ? json() : json(execution.waits_for)},
                  {"slurmJobId", row.slurm_id > 0 ? json(row.slurm_id) : json()},
                  {"type", "Microsoft.BatchAI/workspaces/experiments/jobs"}};
    document["executionStateTransitionTime"] =
        iso_time(execution.end_time.value_or(execution.start_time.value_or(row.created)));
    for (const char* key : kOtherKeys) document[key] = properties.value(key, json());
    add_toolkit(document, properties);
    return document;
}

Table job_table(const json& documents) {
    json rows = documents.is_array() ? documents : json::array({documents});
    bool preparing = false;
    for (auto& row : rows) {
        const std::string text = preparing_text(row["preparation"]);
        preparing = preparing || !text.empty();
        row["preparing"] = text;
        if (!row["cluster"].is_object()) continue;
        const auto id = row["cluster"].value("id", "");
        row["cluster"]["name"] = id.substr(id.rfind('/') + 1);
        const auto start = id.find("/workspaces/") + 12;
        row["cluster"]["workspace"] = id.substr(start, id.find('/', start) - start);
    }
    std::vector<TableColumn> columns{{"Name", "name"},
                                     {"Cluster", "cluster/name"},
                                     {"Cluster RG", "cluster/resourceGroup"},
                                     {"Cluster Workspace", "cluster/workspace"},
                                     {"Tool", "toolType"},
                                     {"Nodes", "nodeCount"},
                                     {"State", "executionState"},
                                     {"Exit code", "executionInfo/exitCode"}};
    if (preparing) columns.push_back({"Preparation", "preparing"});
    return table_of(rows, columns);
}

}  // namespace batchai::cli
