// SPDX-License-Identifier: Apache-2.0
//
// Mounts (mount.hpp), and the mounts for a job file's volumes (plan.hpp).
#include <utility>

#include "job/plan.hpp"

namespace batchai::job {

namespace {

// True if the mount needs an account key that the job file does not have.
bool lacks_key(const Volume& volume, const FileSystem& file_system) {
    return file_system.credentials.kind == CredentialsSource::Kind::job &&
           (volume.account.empty() || (volume.account_key.empty() && !volume.key_reference));
}

}  // namespace

Mount mount_of(const EntryName& entry, const FileSystem& file_system,
               const std::string& directory) {
    Mount mount;
    mount.type = file_system.type;
    mount.source = source_below(file_system, directory);
    mount.read_only = file_system.read_only;
    if (!mount.kind().is_remote) return mount;
    mount.entry = entry;
    mount.directory = directory;
    return mount;
}

sys::Result<Mount> plan_mount(const Volume& volume, const SitePolicy& policy) {
    const auto found = resolve_volume(policy, volume);
    if (!found) return found.error();
    const FileSystem& file_system = (*found)->file_system;
    if (lacks_key(volume, file_system))
        return sys::Error{describe(volume) +
                          " needs the key of its account here: accountName and "
                          "credentials.accountKey or accountKeySecretReference"};
    Mount mount = mount_of(entry_name(**found), file_system, volume.directory);
    mount.target = volume.relative_mount_path;
    const GrantedOptions granted = grant_options(file_system, volume.mount_options);
    mount.read_only = mount.read_only || granted.read_only;
    if (mount.kind().in_memory) mount.size = file_system.max_size;
    mount.options = granted.options;
    if (mount.kind().has_modes) {
        mount.file_mode = volume.file_mode.value_or(0777) & file_system.file_mode;
        mount.directory_mode = volume.directory_mode.value_or(0777) & file_system.directory_mode;
    }
    if (file_system.credentials.kind == CredentialsSource::Kind::job) {
        mount.account = volume.account;
        mount.key = volume.account_key;
    }
    return mount;
}

sys::Result<void> check_count(std::size_t mounts) {
    if (mounts <= kMostMounts) return {};
    return sys::Error{std::to_string(mounts) + " mounts: a job may have at most " +
                      std::to_string(kMostMounts)};
}

sys::Result<std::vector<Mount>> plan_mounts(const JobSpec& spec, const SitePolicy& policy) {
    std::vector<Mount> mounts;
    for (const Volume& volume : volumes_of(spec, policy)) {
        auto mount = plan_mount(volume, policy);
        if (!mount) return mount.error();
        mounts.push_back(*std::move(mount));
    }
    return mounts;
}

}  // namespace batchai::job
