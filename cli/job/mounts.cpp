// SPDX-License-Identifier: Apache-2.0
#include "cli/job/mounts.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "cli/command_options.hpp"
#include "cli/job/job_document.hpp"
#include "job/account.hpp"
#include "job/names.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 4> kLists{"azureFileShares", "azureBlobFileSystems",
                                            "fileServers", "unmanagedFileSystems"};

// If no account is given, the job's --storage-account-name fills in the placeholder.
std::string account_or_placeholder(const std::string& account) {
    return account.empty() ? std::string(job::kAccountPlaceholder) : account;
}

const CLI::Validator kMountPath(
    [](const std::string& path) {
        return job::is_relative_path(path)
                   ? ""
                   : "'" + path + "' is not a path below the mount root: no '..', no leading '/'";
    },
    "PATH");

std::set<std::string> places_of(const json& volumes) {
    std::set<std::string> places;
    for (const char* list : kLists)
        for (const auto& volume : volumes.value(list, json::array()))
            if (volume.is_object()) places.insert(volume.value("relativeMountPath", ""));
    return places;
}

}  // namespace

void add_mount_options(CLI::App& verb, MountOptions& options) {
    verb.add_option("--afs-name", options.share, "mount this file share");
    verb.add_option("--afs-mount-path", options.share_path, "where, below the mount root")
        ->check(kMountPath)
        ->capture_default_str();
    verb.add_option("--bfs-name", options.container, "mount this blob container");
    verb.add_option("--bfs-mount-path", options.container_path, "where, below the mount root")
        ->check(kMountPath)
        ->capture_default_str();
    verb.add_option("--nfs,--nfs-name", options.file_server, "mount this file server")
        ->transform(id_in(options.file_server_scope));
    verb.add_option("--nfs-resource-group", options.file_server_scope.resource_group,
                    "its group, if it is another one")
        ->check(kGroupName);
    verb.add_option("--nfs-mount-path", options.file_server_path, "where, below the mount root")
        ->check(kMountPath)
        ->capture_default_str();
}

sys::Result<std::vector<job::Volume>> read_volumes(const json& mount_volumes) {
    // The smallest job file that has the volumes.
    const json job{{"properties",
                    {{"nodeCount", 1},
                     {"stdOutErrPathPrefix", "/tmp"},
                     {"customToolkitSettings", {{"commandLine", "true"}}},
                     {"mountVolumes", mount_volumes}}}};
    auto parsed = job::parse_job(job.dump(), "");
    if (parsed.spec) return std::move(parsed.spec->volumes);
    const auto mistake = std::find_if(parsed.findings.begin(), parsed.findings.end(),
                                      [](const job::Finding& finding) {
                                          return finding.severity == job::Finding::Severity::error;
                                      });
    return sys::Error{mistake->path + ": " + mistake->message};
}

void fill_in_account(json& volumes, const std::string& account) {
    if (account.empty() || !volumes.is_object()) return;
    for (json& list : volumes)
        for (json& volume : list)
            if (volume.is_object()) job::fill_in_account(volume, account);
}

json mount_volumes(const MountOptions& options, const Scope& scope) {
    json volumes;
    const std::string account = account_or_placeholder(options.account);
    if (!options.share.empty())
        volumes["azureFileShares"] = {
            {{"accountName", account},
             {"azureFileUrl", "https://" + account + ".file.core.windows.net/" + options.share},
             {"relativeMountPath", options.share_path}}};
    if (!options.container.empty())
        volumes["azureBlobFileSystems"] = {{{"accountName", account},
                                            {"containerName", options.container},
                                            {"relativeMountPath", options.container_path}}};
    if (!options.file_server.empty()) {
        job::Identity identity;
        const Scope& own = options.file_server_scope;
        identity.resource_group =
            own.resource_group.empty() ? scope.resource_group : own.resource_group;
        identity.workspace = own.workspace.empty() ? scope.workspace : own.workspace;
        volumes["fileServers"] = {
            {{"fileServer",
              {{"id", workspace_id(identity) + "/fileservers/" + options.file_server}}},
             {"relativeMountPath", options.file_server_path}}};
    }
    return volumes;
}

void merge_volumes(json& properties, const json& volumes) {
    if (!properties.is_object() || !volumes.is_object()) return;
    json& own = properties["mountVolumes"];
    if (own.is_null()) own = json::object();
    if (!own.is_object()) return;  // the check of the job file reports it
    const auto taken = places_of(own);
    for (const char* list : kLists)
        for (const auto& volume : volumes.value(list, json::array())) {
            if (taken.count(volume.value("relativeMountPath", "")) > 0) continue;
            if (own[list].is_null()) own[list] = json::array();
            if (own[list].is_array()) own[list].push_back(volume);
        }
}

}  // namespace batchai::cli
