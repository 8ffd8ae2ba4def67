// SPDX-License-Identifier: Apache-2.0
//
// Follows a growing file without losing a byte: what the writer wrote before the job's end was seen
// is read after that.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sys/result.hpp"

namespace batchai::cli {

// Reads a file on from where it stopped. The file is opened anew each time: on NFS this is what
// makes another machine's writes visible.
class FileFollower {
  public:
    using Sink = std::function<sys::Result<void>(std::string_view)>;

    FileFollower(std::string path, Sink sink) : path_(std::move(path)), sink_(std::move(sink)) {}

    bool exists() const;

    // Hands all bytes up to the file's end to the sink. False: there is no such file yet. A file
    // that became shorter (the job was requeued) is read from its start.
    sys::Result<bool> read_on();

  private:
    std::string path_;
    Sink sink_;
    long long offset_ = 0;
};

// The loop: reads on and pauses until is_over says so, then reads on once more. False: the job
// ended without the file. waiting is called once when the file is not there at first.
struct FollowCallbacks {
    std::function<sys::Result<bool>()> is_over;
    std::function<void()> waiting;
    std::function<void()> found;
    std::function<void()> pause;
};
sys::Result<bool> follow(FileFollower&, const FollowCallbacks&);

}  // namespace batchai::cli
