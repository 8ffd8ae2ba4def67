// SPDX-License-Identifier: Apache-2.0
//
// FileSystem: a file system to mount, as the admin describes it. All tables of the policy with a
// source have these keys. Options of a job only restrict it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchai::job {

enum class MountType { bind, tmpfs, overlay, squashfs, nfs, cifs, fuse };

std::string name_of(MountType);
std::optional<MountType> mount_type(std::string_view name);
std::string mount_type_names();  // "bind, tmpfs, ... and fuse"

// True if a server or a program provides the mount. Root then takes all values from the policy.
inline bool is_remote(MountType type) {
    return type == MountType::nfs || type == MountType::cifs || type == MountType::fuse;
}

// True if a client in the kernel makes the mount, with options.
inline bool has_options(MountType type) {
    return type == MountType::nfs || type == MountType::cifs;
}

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
    // bind, overlay: a directory; squashfs: an image, or a directory of images; nfs: HOST:/EXPORT;
    // cifs: //HOST/SHARE; fuse: what the program takes for one; tmpfs: empty.
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
