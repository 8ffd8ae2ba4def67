// SPDX-License-Identifier: Apache-2.0
//
// Mounts file systems of the kernel with the calls of Linux 5.2 (fsopen, fsconfig, fsmount,
// move_mount). Each parameter is passed separately, so a value cannot be taken for another
// parameter. An error has the kernel's own message. Call as root.
#pragma once

#include <string>
#include <vector>

#include "job/plan.hpp"
#include "job/policy.hpp"
#include "spank/helper/credentials.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

struct Parameter {
    std::string key;
    std::string value;
    bool is_flag = false;  // without a value
};

// "vers=4.2" or "soft".
Parameter parameter_of(const std::string& option);

// A mount that is not attached. It ends with its descriptor unless attach() attaches it. It has the
// attributes of the job's mount, and is always nosuid and nodev.
sys::Result<sys::UniqueFd> make_file_system(const std::string& type, const std::vector<Parameter>&,
                                            const job::Mount&);

// A copy of the directory's tree of mounts, with the attributes of the job's mount.
sys::Result<sys::UniqueFd> copy_tree(int directory, const job::Mount&);

// Makes a mount read-only that is not attached yet.
sys::Result<void> set_read_only(int mount);

// Attaches a mount to an open directory.
sys::Result<void> attach(int mount, int target);

// network_mount.cpp: the options for the kernel's NFS and CIFS clients, those that mount.nfs(8) and
// mount.cifs(8) would pass, without a program that would need the secret.

// The lines of a credentials file, as mount.cifs(8) has them: username=, password=, domain=.
struct Login {
    std::string user;
    std::string password;
    std::string domain;
};
sys::Result<Login> parse_login(const std::string& text);

// The mount must be approved (allowlist.cpp). Both functions look up the server's name, so call
// them in a process that can be killed. NFS without a version is 4.2.
sys::Result<std::vector<Parameter>> nfs_parameters(const job::Mount&, const job::FileSystem&);
sys::Result<std::vector<Parameter>> cifs_parameters(const job::Mount&, const job::FileSystem&,
                                                    const Credentials& user, const Login*);

// squashfs.cpp: mounts an image, which the user's process has opened (O_PATH). The kernel reads an
// image's structures as root, so a user must not be able to write them.
sys::Result<sys::UniqueFd> make_squashfs(const job::Mount&, int file, const Credentials& user,
                                         int seconds);

// overlay.cpp: the job sees a directory of the node, and its writes are in memory.
//
// The directory for the writes ("upper") decides about access to the overlay's top directory. So it
// gets the source's owner, mode, access lists and extended attributes. The user's processes may
// already run in the namespace (job_container/tmpfs). So everything is made and set by descriptor
// in a detached tmpfs of root, which no other process can reach. It is attached last. Even then
// only root can enter it (0700), and the overlay hides it.
//
// Mounts on target, an open directory of this mount namespace. lower: the source, as the user's
// process opened it. An error: a source with an access list that the overlay cannot keep, such as
// NFSv4's.
sys::Result<void> mount_overlay(const job::Mount&, int lower, int target);

}  // namespace batchai::spank
