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

// Gives a mount the kind of the type, with empty parts.
template <std::size_t... I>
void set_kind(Mount& mount, MountType type, std::index_sequence<I...>) {
    ((std::variant_alternative_t<I, decltype(mount.kind)>::kType == type
          ? void(mount.kind.emplace<I>())
          : void()),
     ...);
}

}  // namespace

MountType type_of(const Mount& mount) {
    return std::visit([](const auto& kind) { return kind.kType; }, mount.kind);
}

std::string source_of(const Mount& mount) {
    if (const auto* local = part_of<Local>(mount)) return local->source;
    if (const auto* remote = part_of<Remote>(mount)) return remote->source;
    return {};
}

Mount mount_of(const EntryName& entry, const FileSystem& file_system,
               const std::string& directory) {
    const std::string source = source_below(file_system, directory);
    Mount mount;
    mount.read_only = file_system.read_only;
    set_kind(mount, file_system.type,
             std::make_index_sequence<std::variant_size_v<decltype(mount.kind)>>());
    if (auto* local = part_of<Local>(mount)) local->source = source;
    if (auto* remote = part_of<Remote>(mount)) *remote = {entry, directory, source};
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
    if (auto* memory = part_of<InMemory>(mount)) memory->size = file_system.max_size;
    if (auto* client = part_of<ClientOptions>(mount)) client->options = granted.options;
    if (auto* cifs = part_of<Cifs>(mount)) {
        cifs->file_mode = volume.file_mode.value_or(0777) & file_system.file_mode;
        cifs->directory_mode = volume.directory_mode.value_or(0777) & file_system.directory_mode;
    }
    if (auto* login = part_of<AccountKey>(mount);
        login != nullptr && file_system.credentials.kind == CredentialsSource::Kind::job)
        *login = {volume.account, volume.account_key};
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
