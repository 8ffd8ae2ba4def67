// SPDX-License-Identifier: Apache-2.0
//
// RankFiles: what each rank writes, in files of its own besides the job's output:
// DIRECTORY/rank.07/stdout and stderr, the number as wide as the largest, as horovodrun names them.
// Files of another job are written anew.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "launcher/common/message.hpp"
#include "launcher/common/sink.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

class RankFiles {
  public:
    struct Callbacks {
        std::function<void(std::uint64_t bytes)> on_written;
        std::function<void(const Sink::Failure&)> on_failure;
        std::function<void()> on_idle;  // one of the files is
    };
    // ranks: of the whole job.
    RankFiles(Loop& loop, std::string directory, int ranks, Callbacks callbacks);

    // Before the rank starts. append: to what an earlier attempt, or run of the job, has written;
    // the line, if it is not empty, comes first then.
    sys::Result<void> open(int rank, bool append, const std::string& line);
    void write(int rank, Stream stream, std::string bytes);
    bool idle() const;

  private:
    struct File {
        sys::UniqueFd fd;
        std::unique_ptr<Sink> sink;
    };

    Loop& loop_;
    std::string directory_;
    std::size_t width_;
    Callbacks callbacks_;
    std::map<std::pair<int, Stream>, File> files_;
};

}  // namespace batchai::launcher
