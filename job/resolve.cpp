// SPDX-License-Identifier: Apache-2.0
//
// Resolves the parts of a job by the site policy (policy.hpp). Globs are fnmatch(3)'s, over whole
// strings.
#include <fnmatch.h>

#include <algorithm>

#include "job/bashrc.hpp"
#include "job/names.hpp"
#include "job/plan.hpp"
#include "job/policy.hpp"
#include "job/reader.hpp"

namespace batchai::job {

namespace {

bool matches(const std::string& glob, const std::string& text) {
    return ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

std::string table_of(Volume::Kind kind) {
    return std::string("[[") + kind_of(kind).table + "]]";
}

}  // namespace

std::vector<const FileSystem*> file_systems(const SitePolicy& policy) {
    std::vector<const FileSystem*> all;
    for (const auto& volume : policy.volumes) all.push_back(&volume.file_system);
    for (const auto& allow : policy.allowed) all.push_back(&allow.file_system);
    return all;
}

EntryName entry_name(const VolumePolicy& volume) {
    const FileSystem& file_system = volume.file_system;
    return {table_of(volume.kind), volume.account, volume.name, file_system.program,
            file_system.source};
}

EntryName entry_name(const AllowPolicy& allow) {
    const FileSystem& file_system = allow.file_system;
    return {"[[allow]]", "", allow.name, file_system.program, file_system.source};
}

const FileSystem* find_entry(const SitePolicy& policy, const EntryName& name) {
    for (const auto& volume : policy.volumes)
        if (entry_name(volume) == name) return &volume.file_system;
    for (const auto& allow : policy.allowed)
        if (entry_name(allow) == name) return &allow.file_system;
    return nullptr;
}

std::vector<Volume> volumes_of(const JobSpec& spec, const SitePolicy& policy) {
    std::vector<Volume> volumes = spec.volumes;
    for (const VolumePolicy& candidate : policy.volumes) {
        if (candidate.kind != Volume::Kind::cluster) continue;
        const bool in_the_way =
            std::any_of(spec.volumes.begin(), spec.volumes.end(), [&](const Volume& own) {
                return is_within(own.relative_mount_path, candidate.name) ||
                       is_within(candidate.name, own.relative_mount_path);
            });
        if (in_the_way) continue;
        Volume volume;
        volume.kind = Volume::Kind::cluster;
        volume.name = volume.relative_mount_path = candidate.name;
        volumes.push_back(volume);
    }
    return volumes;
}

sys::Result<const VolumePolicy*> resolve_volume(const SitePolicy& policy, const Volume& volume) {
    bool by_account = false;
    for (const VolumePolicy& candidate : policy.volumes) {
        if (candidate.kind != volume.kind) continue;
        const bool is_command = volume.kind == Volume::Kind::unmanaged;
        if (candidate.name != volume.name && !(is_command && matches(candidate.name, volume.name)))
            continue;
        if (candidate.account == "*" || matches(candidate.account, volume.account))
            return &candidate;
        by_account = true;
    }
    if (by_account && volume.account.empty())
        return sys::Error{describe(volume) +
                          " depends on the storage account here: put its name in place of "
                          "<AZURE_BATCHAI_STORAGE_ACCOUNT>, or give --storage-account-name"};
    return sys::Error{describe(volume) + " is unknown here: no " + table_of(volume.kind) + " of " +
                      policy.file + " names it"};
}

sys::Result<std::string> bound_directory(const SitePolicy& policy, const Volume& volume) {
    const auto found = resolve_volume(policy, volume);
    if (!found) return found.error();
    const FileSystem& file_system = (*found)->file_system;
    if (!kind_of(file_system.type).is_in_place)
        return sys::Error{describe(volume) + ": without the plugin only volumes of type " +
                          mount_type_names(&MountKind::is_in_place) + " work"};
    return file_system.source;
}

sys::Result<std::string> own_secret_file(const SitePolicy& policy, const Variable& secret) {
    const auto found = resolve_secret(policy, *secret.reference);
    if (!found) return found.error();
    const CredentialsSource& source = (*found)->source;
    if (source.kind != CredentialsSource::Kind::user)
        return sys::Error{"secret " + secret.name + ": " + name_of(source) +
                          " is the site's: only the plugin can read it"};
    return source.name;
}

sys::Result<const SecretPolicy*> resolve_secret(const SitePolicy& policy,
                                                const SecretReference& reference) {
    for (const SecretPolicy& candidate : policy.secrets)
        if (matches(candidate.vault, reference.vault) && matches(candidate.url, reference.url))
            return &candidate;
    return sys::Error{describe(reference) + " is unknown here: no [[secret]] of " + policy.file +
                      " names it"};
}

sys::Result<void> may_use(const SecretPolicy& secret, const SecretReference& reference,
                          const sys::UserNames& user) {
    if (secret.source.kind != CredentialsSource::Kind::store) return {};
    for (const std::string& allowed : secret.users) {
        const bool is_group = allowed.starts_with('@');
        if (!is_group && allowed == user.name) return {};
        if (is_group && std::find(user.groups.begin(), user.groups.end(), allowed.substr(1)) !=
                            user.groups.end())
            return {};
    }
    return sys::Error{describe(reference) + " is not for user " + user.name +
                      ": ask the site's admin"};
}

sys::Result<ImagePolicy> resolve_image(const SitePolicy& policy, const std::string& image) {
    for (const ImagePolicy& candidate : policy.images) {
        if (!matches(candidate.name, image)) continue;
        ImagePolicy found = candidate;
        if (!found.say.empty()) return found;
        found.say = "image " + image +
                    (found.in_container() ? ": runs in " + found.run_on + " from " + found.image
                                          : ": this site runs it on the host, not in a container");
        return found;
    }
    return sys::Error{"image '" + image + "' is unknown here: no [[image]] of " + policy.file +
                      " names it"};
}

sys::Result<ImagePolicy> resolve_image(const SitePolicy& policy, const JobSpec& spec) {
    return spec.image ? resolve_image(policy, *spec.image) : ImagePolicy();
}

std::string priority_option(const SitePolicy& policy, Priority priority) {
    // Any user may lower a job's priority.
    constexpr int kNiceOfLow = 100;
    const auto found = policy.priorities.find(priority);
    if (found != policy.priorities.end())
        return found->second.nice ? "--nice=" + std::to_string(*found->second.nice)
                                  : "--qos=" + found->second.qos;
    return priority == Priority::low ? "--nice=" + std::to_string(kNiceOfLow) : "";
}

Preparation resolve_preparation(const SitePolicy& policy, const JobSpec& spec) {
    Preparation preparation;
    preparation.command = spec.preparation_command.value_or("");
    if (preparation.command.empty()) return preparation;
    for (const PreparationPolicy& candidate : policy.preparations) {
        // Compare literally first: a command line may have characters with a meaning in a glob.
        if (candidate.command != preparation.command &&
            !matches(candidate.command, preparation.command))
            continue;
        preparation.note = candidate.say.empty()
                               ? "preparation: this site replaces '" + preparation.command +
                                     "' by '" + candidate.replace + "'"
                               : candidate.say;
        preparation.command = candidate.replace;
        break;
    }
    const auto groups = plan_launch(spec, policy, {});
    const bool is_mpi = std::any_of(groups.begin(), groups.end(),
                                    [](const ProcessGroup& group) { return group.is_mpi; });
    if (is_mpi && !preparation.command.empty())
        preparation.command = noting_bashrc(preparation.command);
    return preparation;
}

}  // namespace batchai::job
