// SPDX-License-Identifier: Apache-2.0
//
// The names of users and groups, as the system's databases have them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace batchai::sys {

struct UserNames {
    std::string name;  // the number, where the user has none
    std::vector<std::string> groups;
};

// Groups without a name are left out.
UserNames names_of(uid_t user, const std::vector<gid_t>& groups);

// Of this process.
UserNames own_names();

}  // namespace batchai::sys
