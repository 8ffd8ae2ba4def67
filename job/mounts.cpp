// SPDX-License-Identifier: Apache-2.0
//
// Mounts (mount.hpp), and the mounts for a job file's volumes and for --batchai-mount (plan.hpp).
#include <algorithm>
#include <utility>

#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/plan.hpp"
#include "job/size.hpp"

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

// The text of --batchai-mount. It is checked as text only. The root helper checks symbolic links
// and owners on the node.
namespace {

// The parts of a SOURCE: the type of the mount, and its path or name.
struct Source {
    MountType type = MountType::bind;
    std::string path;     // absolute, or a path below the volume
    std::string volume;   // NAME of volume=NAME
    std::string program;  // PROGRAM of PROGRAM=/path
};

sys::Result<Source> parse_volume(const std::string& text) {
    Source source;
    const std::string path = without_trailing_slashes(text);
    const std::size_t slash = path.find('/');
    source.volume = path.substr(0, slash);
    if (slash != path.npos) source.path = path.substr(slash + 1);
    if (is_object_name(source.volume) &&
        (source.path.empty() || is_absolute_path("/" + source.path)))
        return source;
    return sys::Error{"'" + text + "' is not a volume: volume=NAME or volume=NAME/directory"};
}

// The kind of a source WORD=/path; null: no kind has that word.
const MountKind* kind_with(const std::string& word) {
    for (const MountKind& kind : kMountKinds)
        if (kind.asked != nullptr && std::string(kind.asked).starts_with(word + "=")) return &kind;
    return nullptr;
}

sys::Error not_a_source(const std::string& text) {
    std::string known;
    for (const MountKind& kind : kMountKinds)
        if (kind.asked != nullptr) known += (known.empty() ? "" : ", ") + std::string(kind.asked);
    return sys::Error{"'" + text + "' is not a source: " + known + " or volume=NAME"};
}

sys::Result<Source> parse_source(const std::string& text, const SitePolicy& policy) {
    Source source;
    const auto type = mount_type(text);
    if (type && kind_of(*type).source == SourceForm::none) {
        source.type = *type;
        return source;
    }
    const std::size_t equals = text.find('=');
    const std::string word =
        text.starts_with('/') || equals == text.npos ? "" : text.substr(0, equals);
    source.path = word.empty() ? text : text.substr(equals + 1);
    if (word == "volume") return parse_volume(source.path);
    source.path = without_trailing_slashes(source.path);
    if (const MountKind* kind = kind_with(word); kind != nullptr) {
        source.type = kind->type;
    } else if (policy.programs.count(word) != 0) {
        source.type = MountType::fuse;
        source.program = word;
    } else if (!word.empty()) {
        return not_a_source(text);
    }
    if (!is_absolute_path(source.path)) return not_a_source(text);
    return source;
}

// Adds options, which can only restrict the entry.
sys::Result<void> parse_options(const std::string& text, const FileSystem& allow, Mount& mount) {
    const bool in_memory = mount.kind().in_memory;
    bool writable = false;
    for (const std::string& option : split_all(text, '+')) {
        const bool is_size = in_memory && option.starts_with("size=");
        if (option == "ro")
            mount.read_only = true;
        else if (option == "rw")
            writable = true;
        else if (option == "noexec")
            mount.no_exec = true;
        else if (is_size && parse_size(option.substr(5)))
            mount.size = option.substr(5);
        else
            return sys::Error{"'" + option + "' is not an option: ro, rw, noexec" +
                              (in_memory ? ", size=N[KMG]" : "")};
    }
    if (writable && mount.read_only) return sys::Error{"'ro' and 'rw' exclude each other"};
    if (writable && allow.read_only)
        return sys::Error{"the site policy allows it read-only, not 'rw'"};
    return {};
}

// Checks a mount by the entry that allows it: read-only if it must be, and a size within the limit.
sys::Result<void> limit(const FileSystem& allow, Mount& mount) {
    if (allow.read_only) mount.read_only = true;
    if (!mount.kind().in_memory) return {};
    if (mount.size.empty()) mount.size = allow.max_size;
    if (*parse_size(mount.size) > *parse_size(allow.max_size))
        return sys::Error{"size=" + mount.size + " is more than the site policy's " +
                          allow.max_size};
    return {};
}

bool covers(const AllowPolicy& allow, const Source& source) {
    const FileSystem& file_system = allow.file_system;
    if (!source.volume.empty()) return allow.name == source.volume;
    if (!allow.name.empty() || file_system.type != source.type ||
        file_system.program != source.program)
        return false;
    return kind_of(source.type).source == SourceForm::none ||
           is_within(source.path, file_system.source);
}

// The entry that covers a source; nullptr: none. If several cover it, the closest one.
const AllowPolicy* allowing(const SitePolicy& policy, const Source& source) {
    const AllowPolicy* closest = nullptr;
    for (const AllowPolicy& allow : policy.allowed) {
        if (!covers(allow, source)) continue;
        if (closest == nullptr ||
            allow.file_system.source.size() > closest->file_system.source.size())
            closest = &allow;
    }
    return closest;
}

sys::Result<Mount> parse_mount(const std::string& text, const SitePolicy& policy) {
    const std::vector<std::string> fields = split_all(text, ':');
    if (fields.size() < 2 || fields.size() > 3)
        return sys::Error{"expected SOURCE:TARGET[:OPTIONS]"};
    const auto source = parse_source(fields[0], policy);
    if (!source) return source.error();
    if (const std::string why = why_no_mount_target(fields[1]); !why.empty())
        return sys::Error{"target '" + fields[1] + "' " + why};
    const AllowPolicy* const allow = allowing(policy, *source);
    if (allow == nullptr)
        return sys::Error{"'" + fields[0] + "' is not allowed by the site policy " + policy.file};
    const FileSystem& file_system = allow->file_system;
    std::string below = source->path;
    if (source->volume.empty() && !below.empty()) {
        below.erase(0, std::min(below.size(), file_system.source.size()));
        if (below.starts_with('/')) below.erase(0, 1);
    }
    Mount mount = mount_of(entry_name(*allow), file_system, below);
    mount.target = fields[1];
    if (fields.size() == 3) {
        if (auto parsed = parse_options(fields[2], file_system, mount); !parsed)
            return parsed.error();
    }
    if (auto limited = limit(file_system, mount); !limited) return limited.error();
    return mount;
}

}  // namespace

sys::Result<std::vector<Mount>> parse_mounts(const std::string& option, const SitePolicy& policy) {
    std::vector<Mount> mounts;
    if (has_control(option))
        return sys::Error{"it has a control character in it, such as the end of a line"};
    const std::vector<std::string> texts = split_all(option, ',');
    if (auto few = check_count(texts.size()); !few) return few.error();
    for (const std::string& text : texts) {
        auto mount = parse_mount(text, policy);
        if (!mount) return mount.error().in(text);
        for (const Mount& other : mounts)
            if (other.target == mount->target)
                return sys::Error{text + ": something is mounted on that target already"};
        mounts.push_back(*mount);
    }
    return mounts;
}

}  // namespace batchai::job
