// SPDX-License-Identifier: Apache-2.0
//
// Mount: one mount of a job on a node, which the policy makes from the job's request. A process
// with the user's rights plans mounts, and root's helper checks and makes them.
#pragma once

#include <string>
#include <type_traits>
#include <variant>

#include "job/file_system.hpp"
#include "job/policy.hpp"

namespace batchai::job {

// Parts of a mount. A process with the user's rights opens the source of a Local.
struct Local {
    std::string source;  // the directory or image
    bool operator==(const Local&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        archive(source);
    }
};

struct InMemory {
    std::string size;  // "64M"
    bool operator==(const InMemory&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        archive(size);
    }
};

// Limit of a job's mounts: the volumes of its file and those of --batchai-mount together. Root gets
// the open sources of all of them in one message (spank/helper/credentials.hpp).
inline constexpr std::size_t kMostMounts = 63;

// A mount that a server or a program provides, from the policy's entry.
struct Remote {
    EntryName entry;
    std::string directory;  // below the entry's source
    std::string source;     // for messages only, until root has taken it from the entry
    bool operator==(const Remote&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        archive(entry, directory, source);
    }
};

struct ClientOptions {
    std::string options;  // granted mountOptions, separated by commas
    bool operator==(const ClientOptions&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        archive(options);
    }
};

// For an entry with credentials = "job".
struct AccountKey {
    std::string account;
    std::string key;  // secret
    bool operator==(const AccountKey&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        archive(account, key);
    }
};

// The kinds of mount (kMountKinds), each with its parts.
struct Bind : Local {
    static constexpr MountType kType = MountType::bind;
    bool operator==(const Bind&) const = default;
};

struct Tmpfs : InMemory {
    static constexpr MountType kType = MountType::tmpfs;
    bool operator==(const Tmpfs&) const = default;
};

// The source is the overlay's lower directory.
struct Overlay : Local, InMemory {
    static constexpr MountType kType = MountType::overlay;
    bool operator==(const Overlay&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        Local::fields(archive);
        InMemory::fields(archive);
    }
};

struct Squashfs : Local {
    static constexpr MountType kType = MountType::squashfs;
    bool operator==(const Squashfs&) const = default;
};

struct Nfs : Remote, ClientOptions {
    static constexpr MountType kType = MountType::nfs;
    bool operator==(const Nfs&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        Remote::fields(archive);
        ClientOptions::fields(archive);
    }
};

struct Cifs : Remote, ClientOptions, AccountKey {
    static constexpr MountType kType = MountType::cifs;
    unsigned file_mode = 0777;
    unsigned directory_mode = 0777;
    bool operator==(const Cifs&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        Remote::fields(archive);
        ClientOptions::fields(archive);
        AccountKey::fields(archive);
        archive(file_mode, directory_mode);
    }
};

struct Fuse : Remote, AccountKey {
    static constexpr MountType kType = MountType::fuse;
    bool operator==(const Fuse&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        Remote::fields(archive);
        AccountKey::fields(archive);
    }
};

struct Mount {
    std::variant<Bind, Tmpfs, Overlay, Squashfs, Nfs, Cifs, Fuse> kind;
    std::string target;  // below the mount root
    bool read_only = false;
    bool no_exec = false;
    bool operator==(const Mount&) const = default;
    template <class Archive>
    void fields(Archive& archive) {
        archive(kind, target, read_only, no_exec);
    }
};

// A part of a mount. nullptr if its kind does not have that part. Part may also be a kind.
template <class Part>
Part* part_of(Mount& mount) {
    return std::visit(
        [](auto& kind) -> Part* {
            if constexpr (std::is_base_of_v<Part, std::remove_cvref_t<decltype(kind)>>)
                return &kind;
            else
                return nullptr;
        },
        mount.kind);
}
template <class Part>
const Part* part_of(const Mount& mount) {
    return part_of<Part>(const_cast<Mount&>(mount));
}

MountType type_of(const Mount&);
// The source is an image, or a directory of images, that a file system is in.
inline bool has_image(const Mount& mount) {
    return kind_of(type_of(mount)).source == SourceForm::image;
}

// The source of a local or a remote mount; empty for a tmpfs.
std::string source_of(const Mount&);

// The mount of a directory below an entry's source. It has no target yet, and no size.
Mount mount_of(const EntryName&, const FileSystem&, const std::string& directory);

}  // namespace batchai::job
