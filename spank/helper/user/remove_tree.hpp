// SPDX-License-Identifier: Apache-2.0
//
// Removes a directory that a user may have filled with anything, with the rights of the process,
// which are that user's (Credentials): also directories without any permission, of any depth. It
// works by open directories and single names, so it follows no symbolic link and enters no mount,
// even if the tree changes meanwhile. Entries that the user could not remove by hand stay, such as
// another user's directory that is not empty.
#pragma once

#include <string>

namespace batchai::spank {

// Removes the directory at path. True if it does not exist any more. There is no time limit: call
// it in a process that can be killed (as_user), and repeat the call.
bool remove_tree(const std::string& path);

}  // namespace batchai::spank
