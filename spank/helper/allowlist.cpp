// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/allowlist.hpp"

#include <fcntl.h>

#include <vector>

#include "job/size.hpp"
#include "spank/helper/files.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {

// What one entry of the policy lets be mounted.
struct Entry {
    job::MountType type;
    std::string source;
    bool read_only;
    std::string max_size;  // empty: not limited here
};

std::vector<Entry> entries_of(const job::SitePolicy& policy) {
    std::vector<Entry> entries;
    for (const auto& share : policy.shares)
        entries.push_back({share.type, share.source, share.read_only, ""});
    for (const auto& allow : policy.allowed)
        entries.push_back({allow.type, allow.source, allow.read_only, allow.max_size});
    return entries;
}

// The admin's directory without symbolic links, to be compared with the user's.
std::string resolve(const std::string& directory) {
    const sys::UniqueFd fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    auto path = fd ? path_of(fd.get()) : sys::Result<std::string>(sys::Error{});
    return path ? *path : std::string();
}

bool covers(const Entry& entry, const job::Mount& mount, const std::string& source) {
    if (entry.type != mount.type) return false;
    if (entry.type != job::MountType::tmpfs) {
        const std::string allowed = resolve(entry.source);
        if (allowed.empty() || !is_within(source, allowed)) return false;
    }
    if (mount.type == job::MountType::bind || entry.max_size.empty()) return true;
    const auto size = job::parse_size(mount.size.empty() ? entry.max_size : mount.size);
    const auto limit = job::parse_size(entry.max_size);
    return size && limit && *size <= *limit;
}

}  // namespace

sys::Result<job::Mount> approve(job::Mount mount, const std::string& source,
                                const job::SitePolicy& policy) {
    bool allowed = false;
    bool writable = false;
    std::string size;
    for (const auto& entry : entries_of(policy)) {
        if (!covers(entry, mount, source)) continue;
        allowed = true;
        writable = writable || !entry.read_only;
        if (size.empty()) size = entry.max_size;
    }
    if (!allowed) {
        std::string what = mount.source.empty() ? "tmpfs" : mount.source;
        if (!mount.size.empty()) what += " of size " + mount.size;
        if (!source.empty() && source != mount.source) what += " (which is " + source + ")";
        return sys::Error{
            what + ": not allowed by the site policy: no [[share]] or [[allow]] entry covers it"};
    }
    mount.read_only = mount.read_only || !writable;
    if (mount.size.empty()) mount.size = size;
    if (!mount.size.empty() && !job::parse_size(mount.size))
        return sys::Error{"size=" + mount.size + ": not a size such as 64M"};
    return mount;
}

}  // namespace batchai::spank
