// SPDX-License-Identifier: Apache-2.0
//
// JobDirectory: /run/batchai/jobs/<cluster>-<number>, root's notes about a job on this node
// (spank/protocol.hpp), held under an exclusive lock that the kernel releases when the helper dies.
// Only fixed names are ever written or removed in it, relative to its descriptor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spank/helper/fields.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {

class JobDirectory {
  public:
    // Creates the directory where there is none and waits for its lock.
    static sys::Result<JobDirectory> create(const std::string& name);

    // Nothing when there is no such directory, or when another process works in it and wait is
    // false.
    static std::optional<JobDirectory> open(const std::string& name, bool wait);

    // The names of all directories.
    static std::vector<std::string> all();

    const std::string& name() const { return name_; }
    std::string path(const char* file) const;
    int fd() const { return fd_.get(); }

    // The state that was written last; empty fields when there is none.
    Fields state() const;
    sys::Result<void> write_state(const Fields&, const std::vector<std::string>& environment) const;

    // Writes a file anew: readers find the text of before or this one.
    sys::Result<void> replace(const char* file, std::string_view text) const;

    // A file to which entries are added: each is there as a whole or not at all.
    sys::Result<void> append(const char* file, const Fields&) const;
    Fields read(const char* file) const;

    // Creates one of the fixed files, empty, 0600.
    sys::Result<void> touch(const char* file) const;
    bool has(const char* file) const;

    // Gives the name free: the directory, marked as one whose end was begun, gets another one.
    sys::Result<void> set_aside();

    // The files go; the directory stays for a new set-up.
    void clear() const;
    // The directory goes as well.
    void remove() const;

  private:
    JobDirectory(std::string name, sys::UniqueFd fd) : name_(std::move(name)), fd_(std::move(fd)) {}

    std::string name_;
    sys::UniqueFd fd_;
};

}  // namespace batchai::spank
