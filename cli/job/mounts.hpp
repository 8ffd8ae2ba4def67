// SPDX-License-Identifier: Apache-2.0
//
// --afs-name, --bfs-name, --nfs and their mount paths, of cluster create and job create, as the
// service's mountVolumes. A cluster's volumes are added to each of its jobs. The cluster's and the
// job's mount root are one directory here, so a job finds all volumes below $AZ_BATCHAI_MOUNT_ROOT.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/session.hpp"
#include "job/document.hpp"

namespace CLI {
class App;
}

namespace batchai::cli {

struct MountOptions {
    std::string share;
    std::string share_path = "afs";
    std::string container;
    std::string container_path = "bfs";
    std::string file_server;
    std::string file_server_path = "nfs";
    Scope file_server_scope = {"", "", ""};  // empty: the job's or the cluster's
    std::string account;
};
void add_mount_options(CLI::App&, MountOptions&);

// {"azureFileShares": [...], ...}; null if no option names a volume.
nlohmann::json mount_volumes(const MountOptions&, const Scope&);

// Replaces <AZURE_BATCHAI_STORAGE_ACCOUNT> in the volumes by the account. mount_volumes may be
// null.
void fill_in_account(nlohmann::json& mount_volumes, const std::string& account);

// Adds volumes to mountVolumes of properties, except volumes whose place is already taken there.
void merge_volumes(job::Json& properties, const nlohmann::json& volumes);

}  // namespace batchai::cli
