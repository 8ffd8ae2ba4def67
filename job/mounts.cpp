// SPDX-License-Identifier: Apache-2.0
//
// Which mounts a job gets: its shares, and those asked for with --batchai-mount (plan.hpp). Lexical
// only; the root helper looks at symbolic links and owners again, on the node.
#include <algorithm>
#include <cctype>

#include "job/names.hpp"
#include "job/plan.hpp"
#include "job/size.hpp"

namespace batchai::job {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = text.find(separator, begin);
        parts.push_back(text.substr(begin, end == text.npos ? end : end - begin));
        if (end == text.npos) return parts;
        begin = end + 1;
    }
}

sys::Result<Mount> parse_source(const std::string& source) {
    Mount mount;
    if (source == "tmpfs") {
        mount.type = MountType::tmpfs;
        return mount;
    }
    constexpr std::string_view kOverlay = "overlay=";
    mount.source = source;
    if (source.rfind(kOverlay, 0) == 0) {
        mount.type = MountType::overlay;
        mount.source = source.substr(kOverlay.size());
    }
    while (mount.source.size() > 1 && mount.source.back() == '/') mount.source.pop_back();
    if (!is_absolute_path(mount.source))
        return sys::Error{"'" + source +
                          "' is not a source: /directory without '..', tmpfs, or "
                          "overlay=/directory"};
    return mount;
}

// Options only narrow what the entry allows.
sys::Result<void> parse_options(const std::string& text, const AllowPolicy& allow, Mount& mount) {
    bool writable = false;
    for (const std::string& option : split(text, '+')) {
        const bool is_size = option.rfind("size=", 0) == 0 && mount.type != MountType::bind;
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
                              (mount.type == MountType::bind ? "" : ", size=N[KMG]")};
    }
    if (writable && mount.read_only) return sys::Error{"'ro' and 'rw' exclude each other"};
    if (writable && allow.read_only)
        return sys::Error{"the site policy allows it read-only, not 'rw'"};
    return {};
}

// Holds a mount against the entry that allows it: read-only where it must be, a size within the
// limit.
sys::Result<void> limit(const AllowPolicy& allow, Mount& mount) {
    if (allow.read_only) mount.read_only = true;
    if (mount.type == MountType::bind) return {};
    if (mount.size.empty()) mount.size = allow.max_size;
    if (*parse_size(mount.size) > *parse_size(allow.max_size))
        return sys::Error{"size=" + mount.size + " is more than the site policy's " +
                          allow.max_size};
    return {};
}

// The entry that covers a mount, the closest one where there are several.
const AllowPolicy* allowing(const SitePolicy& policy, const Mount& mount) {
    const AllowPolicy* closest = nullptr;
    for (const AllowPolicy& allow : policy.allowed) {
        if (allow.type != mount.type) continue;
        if (mount.type != MountType::tmpfs && !is_within(mount.source, allow.source)) continue;
        if (closest == nullptr || allow.source.size() > closest->source.size()) closest = &allow;
    }
    return closest;
}

sys::Result<Mount> parse_mount(const std::string& text, const SitePolicy& policy) {
    const std::vector<std::string> fields = split(text, ':');
    if (fields.size() < 2 || fields.size() > 3)
        return sys::Error{"expected SOURCE:TARGET[:OPTIONS]"};
    auto mount = parse_source(fields[0]);
    if (!mount) return mount;
    mount->target = fields[1];
    if (!is_relative_path(mount->target))
        return sys::Error{"'" + mount->target +
                          "' is not a target: a name below the mount root, without '..'"};
    const AllowPolicy* allow = allowing(policy, *mount);
    if (allow == nullptr)
        return sys::Error{"'" + fields[0] + "' is not allowed by the site policy " + policy.file};
    if (fields.size() == 3) {
        if (auto parsed = parse_options(fields[2], *allow, *mount); !parsed) return parsed.error();
    }
    if (auto limited = limit(*allow, *mount); !limited) return limited.error();
    return mount;
}

}  // namespace

sys::Result<std::vector<Mount>> plan_mounts(const JobSpec& spec, const SitePolicy& policy) {
    std::vector<Mount> mounts;
    for (const AzureFileShare& share : spec.azure_file_shares) {
        const auto found = resolve_share(policy, share);
        if (!found) return found.error();
        Mount mount;
        mount.type = found->type;
        mount.source = found->source + (share.directory.empty() ? "" : "/" + share.directory);
        mount.target = share.relative_mount_path;
        mount.read_only = found->read_only;
        mounts.push_back(mount);
    }
    return mounts;
}

sys::Result<std::vector<Mount>> parse_mounts(const std::string& option, const SitePolicy& policy) {
    std::vector<Mount> mounts;
    if (std::any_of(option.begin(), option.end(), [](unsigned char c) { return std::iscntrl(c); }))
        return sys::Error{"it has a control character in it, such as the end of a line"};
    for (const std::string& text : split(option, ',')) {
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
