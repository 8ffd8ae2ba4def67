// SPDX-License-Identifier: Apache-2.0
//
// File systems of the kernel by the calls of Linux 5.2 (fsopen, fsconfig, fsmount, move_mount):
// every parameter goes alone, so that nothing in it can be taken for another one, and what the
// kernel says of a failure is read and passed on. Call as root.
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

// A mount that is nowhere yet: it is gone with its descriptor unless attach() puts it somewhere.
// Its attributes are those that the job's mount must have, nosuid and nodev always.
sys::Result<sys::UniqueFd> make_file_system(const std::string& type, const std::vector<Parameter>&,
                                            const job::Mount&);

// A copy of the directory's tree of mounts, as the job may have it.
sys::Result<sys::UniqueFd> copy_tree(int directory, const job::Mount&);

// From now on, for a mount that is nowhere yet.
sys::Result<void> set_read_only(int mount);

// Puts a mount on an open directory.
sys::Result<void> attach(int mount, int target);

}  // namespace batchai::spank
