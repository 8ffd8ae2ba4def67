// SPDX-License-Identifier: Apache-2.0
//
// Removes what a user may have filled with anything, with root's rights: directories without any
// permission, of whatever depth, of other owners. Goes by open directories and single names: no
// symbolic link is followed and no mount entered, however the user changes the tree meanwhile.
#pragma once

#include <sys/types.h>

#include <string>

namespace batchai::spank {

// Removes the directory at path if it belongs to owner. Gives up after the seconds. True when it is
// not there any more; a mount in it stays, and what is on it.
bool remove_tree(const std::string& path, uid_t owner, int seconds);

}  // namespace batchai::spank
