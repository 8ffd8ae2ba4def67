// SPDX-License-Identifier: Apache-2.0
//
// The agreement between batchai-helper, the FUSE programs that it starts and batchai-fusermount.
// Constants only.
#pragma once

namespace batchai::spank {

// Open files of a FUSE program besides the standard ones. The numbers are high because some
// programs pass low ones to their children.
inline constexpr int kFuseDescriptor = 100;         // /dev/fuse, of the mount
inline constexpr int kCredentialsDescriptor = 101;  // a file in memory, if it has credentials

}  // namespace batchai::spank
