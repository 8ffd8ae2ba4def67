// SPDX-License-Identifier: Apache-2.0
//
// The user namespace in which a user's rootless containers have their files (user_namespaces(7)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <istream>
#include <optional>
#include <string>

namespace batchai::spank {

// The lines of /proc/PID/uid_map and gid_map.
struct IdMaps {
    std::string uids;
    std::string gids;
};

// The user and the group are 0 there, and the user's ids of /etc/subuid and /etc/subgid are 1 and
// higher. nullopt: the user has none in these files; other sources of subuid(5) are not asked.
std::optional<IdMaps> maps_of(uid_t user, gid_t group);

// One map: own_id is 0 there, and the ranges of the user in a file of subuid(5) follow. Left out:
// ranges with root's id; ranges that the kernel would refuse, because it takes all lines or none;
// and what exceeds its limits. Empty: there are no ranges.
std::string id_map(std::istream& file, std::uint32_t own_id, uid_t user, const std::string& name);

// This process, with root's effective uid and one thread, enters a new user namespace with these
// ids. It has all rights there to files whose owner and group are of these ids. The caller then
// sets its own ids.
bool enter_user_namespace(const IdMaps& maps);

}  // namespace batchai::spank
