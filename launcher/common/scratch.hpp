// SPDX-License-Identifier: Apache-2.0
//
// Scratch: a private directory in /tmp with a short name (it contains sockets), and a directory of
// the same name in /dev/shm. The owner removes both. If the owner and its guard are killed, the
// next owner of the same user removes them: a directory without a lock has no owner. The plugin's
// directories, and those that users make, have other names.
//
// make_in() makes a directory on a file system that nodes share. It has no directory in /dev/shm
// and no lock, so no sweep removes it.
#pragma once

#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

struct Scratch {
    std::string directory;  // make(): /tmp/batchai.run.XXXXXX
    std::string memory;     // make(): /dev/shm/batchai.run.XXXXXX; empty: there is no /dev/shm
    sys::UniqueFd lock;     // inherited by children, which then hold the lock too

    // name: six characters instead of XXXXXX, if no directory has this name already.
    static sys::Result<Scratch> make(const std::string& name = {});
    // PARENT/NAME.XXXXXX, mode 0700.
    static sys::Result<Scratch> make_in(const std::string& parent, const std::string& name);
    void remove() const;
};

// Removes a Scratch by its directory's path, also in a process that did not make it.
void remove_scratch(const std::string& directory);

// Removes directories that killed processes of this user have left. False: some are locked, by
// processes that live or are being killed.
bool sweep_scratch();

}  // namespace batchai::launcher
