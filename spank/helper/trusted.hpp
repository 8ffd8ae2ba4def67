// SPDX-License-Identifier: Apache-2.0
//
// Directories that root mounts on by the admin's word. Whoever can exchange a component of such a
// path gets root to mount where he likes, so none may be anybody's but root's.
#pragma once

#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

// Opens an absolute path for reference only (O_PATH), component by component, and makes what is
// missing. Every component must be a directory of root, not a symbolic link, that neither group nor
// others can write to (a sticky bit does not suffice). Where we are not root there is nobody to
// protect, and owners are not looked at.
sys::Result<sys::UniqueFd> open_trusted_directory(const std::string& path);

}  // namespace batchai::spank
