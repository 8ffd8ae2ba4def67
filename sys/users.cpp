// SPDX-License-Identifier: Apache-2.0
#include "sys/users.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>

namespace batchai::sys {

UserNames names_of(uid_t user, const std::vector<gid_t>& groups) {
    UserNames names;
    const passwd* entry = ::getpwuid(user);
    names.name = entry != nullptr ? entry->pw_name : std::to_string(user);
    for (const gid_t group : groups)
        if (const ::group* found = ::getgrgid(group); found != nullptr)
            names.groups.emplace_back(found->gr_name);
    return names;
}

UserNames own_names() {
    std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
    const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
    groups.resize(static_cast<std::size_t>(std::max(count, 0)));
    groups.push_back(::getegid());
    return names_of(::geteuid(), groups);
}

}  // namespace batchai::sys
