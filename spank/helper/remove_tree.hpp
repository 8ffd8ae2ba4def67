// SPDX-License-Identifier: Apache-2.0
//
// Removes what a user may have filled with anything, with that user's rights and no more:
// directories without any permission, of whatever depth. Goes by open directories and single names:
// no symbolic link is followed and no mount entered, however the tree changes meanwhile. What the
// user could not remove by hand, such as another user's directory with something in it, stays.
#pragma once

#include <string>

namespace batchai::spank {

// Removes the directory at path. True when it is not there any more. Takes as long as it takes:
// call it in a process that can be killed (as_user), and again.
bool remove_tree(const std::string& path);

}  // namespace batchai::spank
