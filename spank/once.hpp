// SPDX-License-Identifier: Apache-2.0
//
// Once: the preparation of a node runs once per job, whichever task comes first. Root's file about
// it (protocol.hpp) is opened for each task and stays with the plugin: no process of the user's
// ever has it. Its lock makes the others wait, its text is how it has ended:
//   ""               not yet
//   "started\n"      a task is at it or, where nobody has the lock, was killed at it
//   "ok\n"           done
//   "failed: LINE\n" not to be tried again
#pragma once

#include "spank/state.hpp"

namespace batchai::spank {

class Once {
  public:
    // As root, in the job's directory. False: the file is not there.
    bool open(int directory);

    enum class Result { none, started, succeeded, failed };
    // line: the failure's, else empty.
    Result read(char* line, size_t size) const;
    bool note_start() const;
    bool note_success() const;
    bool note_failure(const char* line) const;

    // False: another task has the lock. A program that waits for it with lock_file(), which is open
    // for reading only, takes it for us.
    bool try_lock() const;
    int lock_file() const { return lock_.get(); }

  private:
    Descriptor lock_;
    Descriptor result_;
};

}  // namespace batchai::spank
