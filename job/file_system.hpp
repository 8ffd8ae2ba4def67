// SPDX-License-Identifier: Apache-2.0
//
// FileSystem: a file system to mount, as the admin describes it. All tables of the policy with a
// source have these keys. Options of a job only restrict it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchai::job {

enum class MountType { bind, tmpfs, overlay, squashfs, nfs, cifs, fuse };

// What the key `source` of the policy is.
enum class SourceForm { none, directory, image, host_export, host_share, any };

// A row for each kind of mount: what it is called and what it needs. A job's mount is in mount.hpp,
// and spank/helper/root/mount.cpp makes it.
struct MountKind {
    MountType type;
    SourceForm source;
    const char* name;              // in the policy
    const char* asked = nullptr;   // SOURCE of --batchai-mount, for messages; null: an entry's name
    const char* module = nullptr;  // the kernel's name of its file system, if a kernel may lack it
    bool is_in_place = false;      // a job without mounts finds the same files at the source
    bool in_memory = false;        // it holds what the job writes in memory, up to a size
    bool is_remote = false;    // of a server or a program: root takes all values from the policy
    bool has_options = false;  // made by a client in the kernel, with options
    bool has_credentials = false;
    bool has_program = false;  // a [program.NAME] serves it as the job's user
    bool has_modes = false;    // file_mode and directory_mode are those of all files
    bool has_owners = false;   // login node and job see the same owners and modes

    // A process with the user's rights opens the source.
    constexpr bool is_local() const {
        return source == SourceForm::directory || source == SourceForm::image;
    }
};
inline constexpr MountKind kMountKinds[] = {
    {.type = MountType::bind,
     .source = SourceForm::directory,
     .name = "bind",
     .asked = "/directory without '..'",
     .is_in_place = true,
     .has_owners = true},
    {.type = MountType::tmpfs,
     .source = SourceForm::none,
     .name = "tmpfs",
     .asked = "tmpfs",
     .in_memory = true},
    {.type = MountType::overlay,
     .source = SourceForm::directory,
     .name = "overlay",
     .asked = "overlay=/directory",
     .module = "overlay",
     .in_memory = true},
    {.type = MountType::squashfs,
     .source = SourceForm::image,
     .name = "squashfs",
     .asked = "squashfs=/image",
     .module = "squashfs"},
    {.type = MountType::nfs,
     .source = SourceForm::host_export,
     .name = "nfs",
     .module = "nfs",
     .is_remote = true,
     .has_options = true,
     .has_owners = true},
    {.type = MountType::cifs,
     .source = SourceForm::host_share,
     .name = "cifs",
     .module = "cifs",
     .is_remote = true,
     .has_options = true,
     .has_credentials = true,
     .has_modes = true},
    {.type = MountType::fuse,
     .source = SourceForm::any,
     .name = "fuse",
     .is_remote = true,
     .has_credentials = true,
     .has_program = true},
};
constexpr const MountKind& kind_of(MountType type) {
    return kMountKinds[static_cast<std::size_t>(type)];
}

std::string name_of(MountType);
std::optional<MountType> mount_type(std::string_view name);
// "bind, tmpfs, ... and fuse": the kinds that have the property; null: all.
std::string mount_type_names(bool MountKind::*property = nullptr);

// Parses "0755". nullopt: the text is not a mode of reading, writing and executing.
std::optional<unsigned> parse_mode(const std::string& text);

// The place of a mount's secret.
struct CredentialsSource {
    enum class Kind {
        none,
        store,  // the file NAME of the site's own directory, paths.credentials
        user,   // the user's own file ~/.config/batchai/credentials/NAME
        job     // accountName and accountKey of the job file
    };
    Kind kind = Kind::none;
    std::string name;
};
std::string name_of(const CredentialsSource&);  // "store:NAME", as in the policy

// Parses "store:NAME" or "user:NAME". Kind::none: the text is neither. It does not check the name.
CredentialsSource parse_credentials_source(const std::string& text);

struct FileSystem {
    MountType type = MountType::bind;
    // A directory; an image, or a directory of images; HOST:/EXPORT; //HOST/SHARE; what a program
    // takes for one; or empty.
    std::string source;
    std::vector<std::string> options;       // nfs, cifs: the kernel's, "vers=4.2"
    std::vector<std::string> user_options;  // keys of options that a job may set too
    CredentialsSource credentials;
    std::string program;          // fuse: a [program.NAME]
    bool read_only = false;       // every mount is read-only
    std::string max_size = "1G";  // tmpfs and overlay's upper: limit of size=
    unsigned file_mode = 0777;    // cifs: the upper limit of a job's fileMode
    unsigned directory_mode = 0777;
};

// The source and a job's directory below it: "//host/share" and "a/b" are "//host/share/a/b".
std::string source_below(const FileSystem&, const std::string& directory);

// A job's mountOptions ("rw,vers=3", "-o big_writes --use-https=true"), checked by the policy.
struct GrantedOptions {
    std::string options;  // for the kernel, separated by commas
    std::vector<std::string> ignored;
    bool read_only = false;
};
GrantedOptions grant_options(const FileSystem&, const std::string& mount_options);

// "a,,b" at its commas: "a", "" and "b". An empty text has one empty part.
std::vector<std::string> split_all(const std::string& text, char separator);

}  // namespace batchai::job
