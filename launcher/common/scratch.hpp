// SPDX-License-Identifier: Apache-2.0
//
// Scratch: a private directory below /tmp with a short name (sockets are in it), and one of the
// same name in /dev/shm. Its owner removes it. If the owner and its guard were killed at once, the
// next owner of the same user removes it: a directory without a lock has no owner. The names differ
// from those of the plugin, batchai-*.
#pragma once

#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

struct Scratch {
    std::string directory;  // /tmp/batchai.XXXXXX
    std::string memory;     // /dev/shm/batchai.XXXXXX; empty where there is no /dev/shm
    sys::UniqueFd lock;     // children that inherit it own the directory, too

    static sys::Result<Scratch> make();
    void remove() const;
};

// Removes a Scratch by its directory, for a process that has not made it.
void remove_scratch(const std::string& directory);

// Removes the directories that killed processes of this user have left.
void sweep_scratch();

}  // namespace batchai::launcher
