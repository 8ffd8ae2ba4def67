// SPDX-License-Identifier: Apache-2.0
//
// Mount: one mount of a job on a node, which the policy makes from the job's request. A process
// with the user's rights plans mounts, and root's helper checks and makes them.
#pragma once

#include <string>

#include "job/file_system.hpp"
#include "job/policy.hpp"
#include "sys/codec.hpp"

namespace batchai::job {

// Limit of a job's mounts: the volumes of its file and those of --batchai-mount together. Root gets
// the open sources of all of them in one message (spank/helper/credentials.hpp).
inline constexpr std::size_t kMostMounts = 63;

// The row of its kind (kMountKinds) says which of the members count.
struct Mount {
    MountType type = MountType::bind;
    // The directory or image, which a process with the user's rights opens. Of a remote mount it is
    // for messages only, until root has taken it from the entry.
    std::string source;
    std::string target;  // below the mount root
    bool read_only = false;
    bool no_exec = false;
    std::string size;           // in_memory: "64M"
    EntryName entry;            // is_remote: the policy's entry
    std::string directory;      // is_remote: below the entry's source
    std::string options;        // has_options: granted mountOptions, separated by commas
    std::string account;        // has_credentials: for an entry with credentials = "job"
    std::string key;            // of the account; secret
    unsigned file_mode = 0777;  // has_modes
    unsigned directory_mode = 0777;

    const MountKind& kind() const { return kind_of(type); }
    bool operator==(const Mount&) const = default;
    BATCHAI_FIELDS(type, source, target, read_only, no_exec, size, entry, directory, options,
                   account, key, file_mode, directory_mode)
};

// The mount of a directory below an entry's source. It has no target yet, and no size.
Mount mount_of(const EntryName&, const FileSystem&, const std::string& directory);

}  // namespace batchai::job
