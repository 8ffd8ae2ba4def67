// SPDX-License-Identifier: Apache-2.0
//
// Follows a growing file to the job's end. It reads once more after the end, so no byte is lost.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sys/result.hpp"

namespace batchai::cli {

// Continues reading a file where the last read stopped. It opens the file each time, because NFS
// makes another machine's writes visible on open.
class FileFollower {
  public:
    using Sink = std::function<sys::Result<void>(std::string_view)>;

    FileFollower(std::string path, Sink sink) : path_(std::move(path)), sink_(std::move(sink)) {}

    bool exists() const;

    // Passes all bytes up to the file's end to the sink. False: the file does not exist yet. If the
    // file became shorter (the job was requeued), it is read from its start.
    sys::Result<bool> read_on();

  private:
    std::string path_;
    Sink sink_;
    long long offset_ = 0;
};

// Reads and pauses until is_over returns true, then reads once more. False: the job ended without
// the file. waiting is called once if the file does not exist at first.
struct FollowCallbacks {
    std::function<sys::Result<bool>()> is_over;
    std::function<void()> waiting;
    std::function<void()> found;
    std::function<void()> pause;
};
sys::Result<bool> follow(FileFollower&, const FollowCallbacks&);

}  // namespace batchai::cli
