// SPDX-License-Identifier: Apache-2.0
//
// Mounts file systems of the kernel with the calls of Linux 5.2 (fsopen, fsconfig, fsmount,
// move_mount). Each parameter is passed separately, so a value cannot be taken for another
// parameter. An error has the kernel's own message. Call as root.
#pragma once

#include <string>
#include <vector>

#include "job/plan.hpp"
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

}  // namespace batchai::spank
