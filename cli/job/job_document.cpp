// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_document.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cli/output/time_text.hpp"
#include "job/duration.hpp"
#include "job/launch_options.hpp"
#include "job/layout.hpp"
#include "job/toolkit/toolkit.hpp"
#include "slurm/jobs.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

// The keys of the document, with the service's defaults.
const json& properties_shape() {
    static const json shape = [] {
        json all = json::parse(R"({
            "constraints": {"maxWallClockTime": "P7D"},
            "containerSettings": {
                "imageSourceRegistry": {
                    "credentials": {
                        "password": null, "passwordSecretReference": null, "username": null},
                    "image": null, "serverUrl": null},
                "shmSize": null},
            "environmentVariables": [{"name": null, "value": null}],
            "inputDirectories": [{"id": null, "path": null}],
            "jobPreparation": {"commandLine": null},
            "nodeCount": null,
            "outputDirectories": [{"id": null, "pathPrefix": null, "pathSuffix": null}],
            "schedulingPriority": "normal",
            "secrets": [{"name": null, "value": null, "valueSecretReference": null}],
            "stdOutErrPathPrefix": null,
            "caffe2Settings": {
                "commandLineArgs": null, "pythonInterpreterPath": null,
                "pythonScriptFilePath": null},
            "caffeSettings": {
                "commandLineArgs": null, "configFilePath": null, "processCount": null,
                "pythonInterpreterPath": null, "pythonScriptFilePath": null},
            "chainerSettings": {
                "commandLineArgs": null, "processCount": null, "pythonInterpreterPath": null,
                "pythonScriptFilePath": null},
            "cntkSettings": {
                "commandLineArgs": null, "configFilePath": null, "languageType": null,
                "processCount": null, "pythonInterpreterPath": null, "pythonScriptFilePath": null},
            "customMpiSettings": {"commandLine": null, "processCount": null},
            "customToolkitSettings": {"commandLine": null},
            "horovodSettings": {
                "commandLineArgs": null, "processCount": null, "pythonInterpreterPath": null,
                "pythonScriptFilePath": null},
            "pyTorchSettings": {
                "commandLineArgs": null, "communicationBackend": null, "processCount": null,
                "pythonInterpreterPath": null, "pythonScriptFilePath": null},
            "tensorFlowSettings": {
                "masterCommandLineArgs": null, "parameterServerCommandLineArgs": null,
                "parameterServerCount": null, "pythonInterpreterPath": null,
                "pythonScriptFilePath": null, "workerCommandLineArgs": null,
                "workerCount": null}})");
        all["mountVolumes"] = mount_volumes_shape();
        return all;
    }();
    return shape;
}

constexpr std::array<std::string_view, 3> kSecretKeys{"accountKey", "password",
                                                      "adminUserPassword"};

json time_or_null(const std::optional<double>& time) {
    return time ? json(iso_time(*time)) : json();
}

// In the form of Python's timedelta, as az printed it.
void print_duration(json& constraints) {
    json& limit = constraints["maxWallClockTime"];
    if (!limit.is_string()) return;
    if (const auto seconds = job::parse_duration(limit.get<std::string>()))
        limit = duration_text(static_cast<double>(*seconds));
}

void hide_secrets(json& secrets) {
    if (!secrets.is_array()) return;
    for (auto& secret : secrets)
        if (secret.is_object()) secret = {{"name", secret.value("name", "")}};
}

json execution_info(const Execution& execution) {
    if (!execution.start_time && !execution.over()) return nullptr;
    json errors;  // null if there are none
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

// Sets toolType, and the settings that the service filled in.
void complete_toolkit(json& document) {
    document["toolType"] = nullptr;
    for (const job::Toolkit& toolkit : job::toolkits()) {
        json& settings = document[std::string(toolkit.key)];
        if (!settings.is_object()) continue;
        document["toolType"] = toolkit.type;
        if (toolkit.has_process_count && settings["processCount"].is_null())
            settings["processCount"] = document["nodeCount"];
    }
    json& cntk = document["cntkSettings"];
    if (cntk.is_object() && cntk["languageType"].is_null())
        cntk["languageType"] = cntk["configFilePath"].is_null() ? "Python" : "BrainScript";
}

json cluster_reference(const job::Identity& identity) {
    const job::ClusterName cluster = job::cluster_of(identity);
    if (cluster.name.empty()) return nullptr;
    job::Identity home = identity;
    home.resource_group = cluster.resource_group;
    home.workspace = cluster.workspace;
    return {{"id", workspace_id(home) + "/clusters/" + cluster.name},
            {"resourceGroup", cluster.resource_group}};
}

// What `job create` or `job run` gave batchai-launch; null: nothing, or the job has a script.
json launch_facts(const json& snapshot) {
    static const json shape = [] {
        json all = json::object();
        for (const job::LaunchOption* option : job::kLaunchOptions) all[option->key] = nullptr;
        return all;
    }();
    const json none = json::object();
    return snapshot.is_object()
               ? shaped(snapshot.value("batchai", none).value("launch", json()), shape)
               : json();
}

json text_or_null(const std::string& text) {
    return text.empty() ? json() : json(text);
}

// Facts for which the service had no key.
json slurm_facts(const JobRow& row, const Execution& execution, const json& preparation) {
    const slurm::Job slurm = execution.slurm.value_or(slurm::Job{});
    const job::Number& number = row.number;
    // The own number of a task is unknown until it starts.
    return {{"jobId", number.own() > 0 ? json(number.own()) : json()},
            {"arrayJobId", number.is_task() ? json(number.whole()) : json()},
            {"arrayTaskId", number.is_task() ? json(number.index()) : json()},
            {"state", text_or_null(slurm.state)},
            {"reason", text_or_null(slurm.reason == "None" ? "" : slurm.reason)},
            {"partition", text_or_null(slurm.partition)},
            {"startTime", time_or_null(slurm.start_time)},
            {"endTime", time_or_null(slurm.end_time)},
            {"preparation", preparation}};
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

std::string workspace_of(const std::string& id) {
    constexpr std::string_view kLevel = "/workspaces/";
    const auto level = id.find(kLevel);
    if (level == std::string::npos) return {};
    const auto start = level + kLevel.size();
    return id.substr(start, id.find('/', start) - start);
}

json job_document(const JobRow& row, const Execution& execution, const json& snapshot,
                  const json& preparation) {
    const auto& identity = row.identity;
    json document =
        snapshot.is_object() ? snapshot.value("properties", json::object()) : json::object();
    hide_secrets(document["secrets"]);
    hide_credentials(document);
    if (document["constraints"].is_null()) document["constraints"] = json::object();
    document = shaped(document, properties_shape());
    print_duration(document["constraints"]);
    complete_toolkit(document);
    document["cluster"] = cluster_reference(identity);
    document["creationTime"] = iso_time(row.created);
    document["executionInfo"] = execution_info(execution);
    document["executionState"] = state_name(execution.state);
    document["executionStateTransitionTime"] =
        iso_time(execution.end_time.value_or(execution.start_time.value_or(row.created)));
    document["experimentName"] = identity.experiment;
    document["id"] =
        workspace_id(identity) + "/experiments/" + identity.experiment + "/jobs/" + shown_name(row);
    document["jobOutputDirectoryPathSegment"] = job::output_segment(identity);
    document["name"] = shown_name(row);
    document["provisioningState"] = row.deleting ? "deleting" : "succeeded";
    document["provisioningStateTransitionTime"] = iso_time(row.created);
    document["resourceGroup"] = identity.resource_group;
    document["launch"] = launch_facts(snapshot);
    document["type"] = "Microsoft.BatchAI/workspaces/experiments/jobs";
    document["slurm"] = slurm_facts(row, execution, preparation);
    return document;
}

std::string tool_of(const json& document) {
    const json& tool = document["toolType"];
    return tool.is_string() ? tool.get<std::string>() : "";
}

int node_count_of(const json& document) {
    const json& nodes = document["nodeCount"];
    return nodes.is_number_integer() ? nodes.get<int>() : 0;
}

Table job_table(const std::vector<JobLine>& lines) {
    Table table{
        {"Name", "Cluster", "Cluster RG", "Cluster Workspace", "Tool", "Nodes", "State",
         "Exit code", "Experiment", "Slurm ID", "Started", "Ended"},
        {},
        {"Cluster Workspace", "Cluster RG", "Ended", "Cluster", "Started", "Experiment", "Reason"}};
    const auto any = [&lines](auto has) { return std::any_of(lines.begin(), lines.end(), has); };
    const bool waits = any([](const JobLine& line) { return !line.execution.waits_for.empty(); });
    const bool prepares = any([](const JobLine& line) { return !line.preparing.empty(); });
    if (waits) table.titles.emplace_back("Reason");
    if (prepares) table.titles.emplace_back("Preparation");
    for (const JobLine& line : lines) {
        const auto& identity = line.identity;
        const auto& execution = line.execution;
        const job::ClusterName cluster = job::cluster_of(identity);
        const bool named = !cluster.name.empty();
        auto& row = table.rows.emplace_back();
        row = {shown_name(identity, line.number),
               cluster.name,
               named ? cluster.resource_group : "",
               named ? cluster.workspace : "",
               line.tool,
               line.nodes > 0 ? std::to_string(line.nodes) : "",
               line.deleting ? "deleting" : state_name(execution.state),
               execution.exit_code ? std::to_string(*execution.exit_code) : "",
               identity.experiment,
               line.number.text(),
               execution.start_time ? iso_seconds(*execution.start_time) : "",
               execution.end_time ? iso_seconds(*execution.end_time) : ""};
        if (waits) row.push_back(execution.waits_for);
        if (prepares) row.push_back(line.preparing);
    }
    return table;
}

using nlohmann::json;

json shaped(const json& value, const json& shape) {
    json result = value;
    if (shape.is_object() && value.is_object()) {
        result = json::object();
        for (const auto& [key, inner] : shape.items())
            result[key] = shaped(value.value(key, json()), inner);
    } else if (shape.is_array() && value.is_array()) {
        for (auto& item : result) item = shaped(item, shape.front());
    } else if (value.is_null() && !shape.is_structured()) {
        result = shape;
    }
    return result;
}

const json& mount_volumes_shape() {
    static const json shape = json::parse(R"({
        "azureBlobFileSystems": [{
            "accountName": null, "containerName": null,
            "credentials": {"accountKey": null, "accountKeySecretReference": null},
            "mountOptions": null, "relativeMountPath": null}],
        "azureFileShares": [{
            "accountName": null, "azureFileUrl": null,
            "credentials": {"accountKey": null, "accountKeySecretReference": null},
            "directoryMode": "0777", "fileMode": "0777", "relativeMountPath": null}],
        "fileServers": [{
            "fileServer": {"id": null}, "mountOptions": null, "relativeMountPath": null,
            "sourceDirectory": null}],
        "unmanagedFileSystems": [{"mountCommand": null, "relativeMountPath": null}]})");
    return shape;
}

}  // namespace batchai::cli
