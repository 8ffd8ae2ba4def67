// SPDX-License-Identifier: Apache-2.0
//
// Once: the preparation of a node runs once per job, whoever comes first. Root has opened a file
// for each task (spank/protocol.hpp); its lock makes the others wait, its text is how it ended:
//   ""               not yet
//   "ok\n"           done
//   "failed: LINE\n" not to be tried again; written beforehand too, for the case that we are killed
#pragma once

#include <optional>
#include <string>

#include "sys/result.hpp"

namespace batchai::spank {

class Once {
  public:
    // fd stays the caller's. Waits for the lock, which ends with the last copy of fd.
    static sys::Result<Once> enter(int fd);

    // How it has ended before: empty text for success. Nothing: it is ours to do.
    const std::optional<std::string>& earlier() const { return earlier_; }

    sys::Result<void> succeeded() const;
    sys::Result<void> failed(const std::string& line) const;

  private:
    Once(int fd, std::optional<std::string> earlier) : fd_(fd), earlier_(std::move(earlier)) {}
    sys::Result<void> write(const std::string& text) const;

    int fd_;
    std::optional<std::string> earlier_;
};

}  // namespace batchai::spank
