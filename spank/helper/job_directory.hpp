// SPDX-License-Identifier: Apache-2.0
//
// JobDirectory: /run/batchai/jobs/<id>, root's notes about a job on this node (spank/protocol.hpp),
// held under an exclusive lock that the kernel releases when the helper dies. Only fixed names are
// ever written or removed in it, relative to its descriptor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spank/helper/fields.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

class JobDirectory {
  public:
    // Creates the directory where there is none and waits for its lock.
    static sys::Result<JobDirectory> create(unsigned job);

    // Nothing when there is no such directory, or when somebody works in it and wait is false.
    static std::optional<JobDirectory> open(unsigned job, bool wait);

    // Numbers of all jobs that have a directory.
    static std::vector<unsigned> all();

    std::string path(const char* file) const;
    int fd() const { return fd_.get(); }

    // The state that was written last; empty fields when there is none.
    Fields state() const;
    sys::Result<void> write_state(const Fields&, const std::vector<std::string>& environment) const;

    // A file to which entries are added: each is there as a whole or not at all.
    sys::Result<void> append(const char* file, const Fields&) const;
    Fields read(const char* file) const;

    // Creates one of the fixed files, empty, 0600.
    sys::Result<void> touch(const char* file) const;
    bool has(const char* file) const;

    // The files go; the directory stays for a new set-up.
    void clear() const;
    // The directory goes as well.
    void remove() const;

  private:
    JobDirectory(unsigned job, sys::UniqueFd fd) : job_(job), fd_(std::move(fd)) {}

    unsigned job_;
    sys::UniqueFd fd_;
};

}  // namespace batchai::spank
