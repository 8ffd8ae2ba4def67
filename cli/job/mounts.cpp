// SPDX-License-Identifier: Apache-2.0
#include "cli/job/mounts.hpp"

#include <set>

#include "cli/command_options.hpp"
#include "cli/job/job_document.hpp"
#include "job/names.hpp"
#include "job/volumes.hpp"

namespace batchai::cli {
namespace {

using nlohmann::json;

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

template <class Json>
std::string place_of(const Json& volume) {
    const auto place = volume.is_object() ? volume.find("relativeMountPath") : volume.end();
    return place != volume.end() && place->is_string() ? place->template get<std::string>() : "";
}

std::set<std::string> places_of(const job::Json& volumes) {
    std::set<std::string> places;
    for (const auto& list : volumes)
        for (const auto& volume : list) places.insert(place_of(volume));
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

void merge_volumes(job::Json& properties, const json& volumes) {
    if (!properties.is_object() || !volumes.is_object() || volumes.empty()) return;
    job::Json& own = properties["mountVolumes"];
    if (own.is_null()) own = job::Json::object();
    if (!own.is_object()) return;  // the check of the job file reports it
    const auto taken = places_of(own);
    for (const job::VolumeKind& kind : job::kVolumeKinds) {
        if (kind.list == nullptr || !volumes.contains(kind.list)) continue;
        for (const auto& volume : volumes[kind.list]) {
            if (taken.count(place_of(volume)) > 0) continue;
            job::Json& list = own[kind.list];
            if (list.is_null()) list = job::Json::array();
            if (list.is_array()) list.push_back(job::Json(volume));
        }
    }
}

}  // namespace batchai::cli
