// SPDX-License-Identifier: Apache-2.0
//
// RankFiles: the files that hold each rank's output. With --output-dir they are DIR/rank.07/stdout
// and stderr; the number is as wide as the largest one, as under horovodrun. A job file's toolkit
// may name others. In the last part of a path, "{stream}" stands for stdout or stderr.
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

// The path of a rank's files in --output-dir. ranks: the number of ranks of the whole job.
std::string path_of_rank(const std::string& directory, int rank, int ranks);

class RankFiles {
  public:
    struct Callbacks {
        std::function<void(std::uint64_t bytes)> on_written;  // bytes, for each file
        std::function<void(const Sink::Failure&)> on_failure;
        std::function<void()> on_idle;  // a file has written all its output
    };
    RankFiles(Loop& loop, Callbacks callbacks);

    // Opens two more files for the rank's output and empties them. Call it before the rank starts.
    sys::Result<void> make(int rank, const std::string& path);
    // Like make(), but keeps the files' contents and appends the line, unless it is empty.
    sys::Result<void> extend(int rank, const std::string& path, const std::string& line);
    // Like extend(), before the rank starts again. If a file cannot be opened, the job goes on: the
    // file counts as one that cannot be written.
    void reopen(int rank, const std::string& path, const std::string& line);
    // How many files each of the rank's streams is written to.
    int count(int rank) const { return static_cast<int>(files_.count({rank, Stream::out})); }
    void write(int rank, Stream stream, const std::string& bytes);
    // No more output follows: see Sink::finish().
    void finish();
    bool idle() const;

  private:
    struct File {
        sys::UniqueFd fd;
        std::unique_ptr<Sink> sink;
    };
    Sink& add(int rank, Stream stream, const std::string& path, sys::UniqueFd fd);

    Loop& loop_;
    Callbacks callbacks_;
    std::multimap<std::pair<int, Stream>, File> files_;
};

}  // namespace batchai::launcher
