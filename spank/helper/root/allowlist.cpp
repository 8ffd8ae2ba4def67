// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/mount.hpp"

#include <fcntl.h>

#include <algorithm>
#include <vector>

#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/size.hpp"
#include "spank/helper/fields.hpp"
#include "spank/helper/files.hpp"
#include "spank/helper/root/child.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {

using Entries = std::vector<const job::FileSystem*>;

constexpr int kResolveSeconds = 10;

bool is_big_enough(const job::FileSystem& entry, const job::Mount& mount) {
    if (!mount.kind().in_memory) return true;
    const auto size = job::parse_size(mount.size.empty() ? entry.max_size : mount.size);
    const auto limit = job::parse_size(entry.max_size);
    return size && limit && *size <= *limit;
}

// The sources of the entries without symbolic links, in the order of the entries; an empty text if
// one does not exist. It runs in a process of its own, because a source's server may be dead.
sys::Result<std::vector<std::string>> resolve(const Entries& entries) {
    const auto answer = as_root(
        kResolveSeconds,
        [&]() -> sys::Result<Answer> {
            Fields paths;
            for (const auto* entry : entries) {
                const sys::UniqueFd fd(open(entry->source.c_str(), O_PATH | O_CLOEXEC));
                const auto path = fd ? path_of(fd.get()) : sys::Result<std::string>(sys::Error{});
                paths.add("path", path ? *path : "");
            }
            return Answer{paths.text(), {}};
        },
        "a source in the site policy");
    const auto paths = answer ? Fields::parse(answer->text) : sys::Result<Fields>(answer.error());
    if (!paths) return paths.error();
    return paths->all("path");
}

Entries covering(const Entries& entries, const std::vector<std::string>& paths,
                 const std::string& source) {
    Entries found;
    for (std::size_t i = 0; i < entries.size() && i < paths.size(); ++i)
        if (!paths[i].empty() && job::is_within(source, paths[i])) found.push_back(entries[i]);
    return found;
}

// The entries that cover a source. The source's path has no symbolic link. So if it lies below an
// entry's source by name, it does so in fact, and no other path is looked up. A dead server under
// one entry must not delay jobs that use another.
sys::Result<Entries> entries_for(const job::Mount& mount, const std::string& source,
                                 const job::SitePolicy& policy) {
    Entries entries;
    std::vector<std::string> names;
    for (const auto* entry : job::file_systems(policy)) {
        if (entry->type != mount.type || !is_big_enough(*entry, mount)) continue;
        entries.push_back(entry);
        names.push_back(entry->source);
    }
    if (mount.kind().source == job::SourceForm::none || entries.empty()) return entries;
    auto found = covering(entries, names, source);
    if (!found.empty()) return found;
    const auto paths = resolve(entries);
    if (!paths) return paths.error();
    return covering(entries, *paths, source);
}

// Approves a remote mount by the entry that the plan names. Source and options come from the
// policy.
sys::Result<job::Mount> approve_remote(job::Mount mount, const job::SitePolicy& policy) {
    const job::MountKind& kind = mount.kind();
    const auto* entry = entry_of(mount, policy);
    if (entry == nullptr || entry->type != mount.type)
        return sys::Error{mount.target + ": not allowed by the site policy: it has no such entry"};
    // The kernel's SMB client takes a backslash as '/'.
    const bool is_below = job::is_absolute_path("/" + mount.directory) &&
                          (kind.source != job::SourceForm::host_share ||
                           mount.directory.find('\\') == mount.directory.npos);
    if (!mount.directory.empty() && !is_below)
        return sys::Error{mount.target + ": '" + mount.directory +
                          "' must not contain '..' or '\\'"};
    const auto granted = job::grant_options(*entry, mount.options);
    if (!granted.ignored.empty())
        return sys::Error{mount.target + ": option '" + granted.ignored.front() +
                          "' is not allowed by the site policy"};
    mount.options = granted.options;  // the text that was checked, in its parts
    mount.source = job::source_below(*entry, mount.directory);
    mount.read_only = mount.read_only || granted.read_only || entry->read_only;
    mount.file_mode &= entry->file_mode;
    mount.directory_mode &= entry->directory_mode;
    return mount;
}

}  // namespace

sys::Result<job::Mount> approve(job::Mount mount, const std::string& source,
                                const job::SitePolicy& policy) {
    if (const std::string why = job::why_no_mount_target(mount.target); !why.empty())
        return sys::Error{"target '" + mount.target + "' " + why};
    if (mount.kind().is_remote) return approve_remote(std::move(mount), policy);
    const auto entries = entries_for(mount, source, policy);
    if (!entries) return entries.error();
    const bool in_memory = mount.kind().in_memory;
    if (entries->empty()) {
        std::string what = mount.source.empty() ? mount.kind().name : mount.source;
        if (in_memory && !mount.size.empty()) what += " of size " + mount.size;
        if (!source.empty() && source != mount.source) what += " (which is " + source + ")";
        return sys::Error{
            what + ": not allowed by the site policy: no [[share]] or [[allow]] entry covers it"};
    }
    const bool writable = std::any_of(entries->begin(), entries->end(),
                                      [](const auto* entry) { return !entry->read_only; });
    mount.read_only = mount.read_only || !writable;
    if (in_memory && mount.size.empty()) mount.size = entries->front()->max_size;
    return mount;
}

const job::FileSystem* entry_of(const job::Mount& mount, const job::SitePolicy& policy) {
    return mount.kind().is_remote ? job::find_entry(policy, mount.entry) : nullptr;
}

}  // namespace batchai::spank
