// SPDX-License-Identifier: Apache-2.0
//
// JobDirectory: /run/batchai/jobs/<cluster>-<number>, root's notes about a job on this node
// (spank/protocol.hpp). It holds an exclusive lock, which the kernel releases when the helper dies.
// It writes and removes only fixed names in the directory, relative to its descriptor.
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
    // Creates the directory if it does not exist, and waits for its lock.
    static sys::Result<JobDirectory> create(const std::string& name);

    // nullopt: there is no such directory, or another process works in it and wait is false.
    static std::optional<JobDirectory> open(const std::string& name, bool wait);

    // The names of all directories.
    static std::vector<std::string> all();

    const std::string& name() const { return name_; }
    std::string path(const char* file) const;
    int fd() const { return fd_.get(); }

    // The state that was written last; empty fields if there is none.
    Fields state() const;
    sys::Result<void> write_state(const Fields&, const std::vector<std::string>& environment) const;

    // Replaces a file: readers find either the old or the new text.
    sys::Result<void> replace(const char* file, std::string_view text) const;

    // Adds an entry to a file: readers find all of it or nothing.
    sys::Result<void> append(const char* file, const Fields&) const;
    Fields read(const char* file) const;

    // Creates one of the fixed files, empty, 0600.
    sys::Result<void> touch(const char* file) const;
    bool has(const char* file) const;

    // Renames the directory, so that its name is free, and marks it as one whose end was begun.
    sys::Result<void> set_aside();
    // True if set_aside has given the name.
    static bool is_aside(const std::string& name);

    // Removes the files. The directory stays for a new set-up.
    void clear() const;
    // Removes the files and the directory.
    void remove() const;

  private:
    JobDirectory(std::string name, sys::UniqueFd fd) : name_(std::move(name)), fd_(std::move(fd)) {}

    std::string name_;
    sys::UniqueFd fd_;
};

}  // namespace batchai::spank
