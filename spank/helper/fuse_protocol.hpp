// SPDX-License-Identifier: Apache-2.0
//
// What batchai-helper, the FUSE programs that it starts and batchai-fusermount agree on. Constants
// only.
#pragma once

namespace batchai::spank {

// Open files of a FUSE program besides the standard ones. High numbers, for some programs give low
// ones to the programs that they start.
inline constexpr int kFuseDescriptor = 100;         // /dev/fuse, of the mount
inline constexpr int kCredentialsDescriptor = 101;  // a file in memory, where it has credentials

}  // namespace batchai::spank
