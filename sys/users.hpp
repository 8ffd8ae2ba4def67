// SPDX-License-Identifier: Apache-2.0
//
// Names of users and groups, from the system's databases.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace batchai::sys {

struct UserNames {
    std::string name;  // the number, if the user has no name
    std::vector<std::string> groups;
};

// Groups without a name are left out.
UserNames names_of(uid_t user, const std::vector<gid_t>& groups);

// The user and groups of this process.
UserNames own_names();

}  // namespace batchai::sys
