// SPDX-License-Identifier: Apache-2.0
//
// Once: runs the preparation of a node once per job, in the first task that comes. Each task opens
// root's file about it (protocol.hpp), and only the plugin has it open: no process of the user gets
// the descriptor. Other tasks wait for the file's lock. Its text is the result:
//   ""               not started
//   "started\n"      a task prepares the node; without a lock, that task was killed
//   "ok\n"           done
//   "failed: LINE\n" failed; it is not tried again
#pragma once

#include "spank/state.hpp"

namespace batchai::spank {

class Once {
  public:
    // Opens the file in the job's directory. Call as root. False: the file does not exist.
    bool open(int directory);

    enum class Result { none, started, succeeded, failed };
    // line: the line of the failure, else empty.
    Result read(char* line, size_t size) const;
    bool note_start() const;
    bool note_success() const;
    bool note_failure(const char* line) const;

    // False: another task has the lock. A program that waits with lock_file(), which is open for
    // reading only, takes the lock for this process.
    bool try_lock() const;
    int lock_file() const { return lock_.get(); }

  private:
    Descriptor lock_;
    Descriptor result_;
};

}  // namespace batchai::spank
