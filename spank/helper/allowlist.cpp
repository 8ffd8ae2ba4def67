// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/allowlist.hpp"

#include <fcntl.h>

#include "job/names.hpp"
#include "job/size.hpp"
#include "spank/helper/files.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {

// The admin's directory or image without symbolic links, to be compared with the user's.
std::string resolve(const std::string& path) {
    const sys::UniqueFd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
    auto resolved = fd ? path_of(fd.get()) : sys::Result<std::string>(sys::Error{});
    return resolved ? *resolved : std::string();
}

bool covers(const job::FileSystem& entry, const job::Mount& mount, const std::string& source) {
    if (entry.type != mount.type) return false;
    if (entry.type != job::MountType::tmpfs) {
        const std::string allowed = resolve(entry.source);
        if (allowed.empty() || !is_within(source, allowed)) return false;
    }
    if (!job::is_sized(mount.type)) return true;
    const auto size = job::parse_size(mount.size.empty() ? entry.max_size : mount.size);
    const auto limit = job::parse_size(entry.max_size);
    return size && limit && *size <= *limit;
}

// By the entry that the plan names: source and options are the policy's.
sys::Result<job::Mount> approve_remote(job::Mount mount, const job::SitePolicy& policy) {
    const auto* entry = entry_of(mount, policy);
    if (entry == nullptr || entry->type != mount.type)
        return sys::Error{mount.target + ": not allowed by the site policy: it has no such entry"};
    if (!mount.directory.empty() && !job::is_absolute_path("/" + mount.directory))
        return sys::Error{mount.target + ": '" + mount.directory + "' must not contain '..'"};
    const auto granted = job::grant_options(*entry, mount.options);
    if (!granted.ignored.empty())
        return sys::Error{mount.target + ": option '" + granted.ignored.front() +
                          "' is not allowed by the site policy"};
    mount.source = job::source_below(*entry, mount.directory);
    mount.read_only = mount.read_only || entry->read_only;
    mount.file_mode &= entry->file_mode;
    mount.directory_mode &= entry->directory_mode;
    return mount;
}

}  // namespace

sys::Result<job::Mount> approve(job::Mount mount, const std::string& source,
                                const job::SitePolicy& policy) {
    if (job::is_remote(mount.type)) return approve_remote(std::move(mount), policy);
    bool allowed = false;
    bool writable = false;
    std::string size;
    for (const auto* entry : job::file_systems(policy)) {
        if (!covers(*entry, mount, source)) continue;
        allowed = true;
        writable = writable || !entry->read_only;
        if (size.empty()) size = entry->max_size;
    }
    if (!allowed) {
        std::string what = mount.source.empty() ? "tmpfs" : mount.source;
        if (!mount.size.empty()) what += " of size " + mount.size;
        if (!source.empty() && source != mount.source) what += " (which is " + source + ")";
        return sys::Error{
            what + ": not allowed by the site policy: no [[share]] or [[allow]] entry covers it"};
    }
    mount.read_only = mount.read_only || !writable;
    if (job::is_sized(mount.type) && mount.size.empty()) mount.size = size;
    return mount;
}

const job::FileSystem* entry_of(const job::Mount& mount, const job::SitePolicy& policy) {
    const auto entries = job::file_systems(policy);
    const bool there = mount.entry >= 0 && static_cast<std::size_t>(mount.entry) < entries.size();
    return there ? entries[static_cast<std::size_t>(mount.entry)] : nullptr;
}

}  // namespace batchai::spank
