// SPDX-License-Identifier: Apache-2.0
//
// RankFiles: what each rank writes, in files of its own besides the job's output:
// DIRECTORY/rank.07/stdout and stderr, the number as wide as the largest, as horovodrun names them.
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

    // Before the rank starts: makes its files, or empties those of another job.
    sys::Result<void> make(int rank);
    // Before the rank starts again: its output goes on in them, below the line, if that is not
    // empty. Files that cannot be opened are no reason to end a job that has begun: they are
    // treated as those that cannot be written.
    void reopen(int rank, const std::string& line);
    void write(int rank, Stream stream, std::string bytes);
    // Nothing more comes: see Sink::finish().
    void finish();
    bool idle() const;

  private:
    struct File {
        sys::UniqueFd fd;
        std::unique_ptr<Sink> sink;
    };
    std::string directory_of(int rank) const;
    std::string path_of(int rank, Stream stream) const;
    sys::Result<sys::UniqueFd> open_directory(int rank) const;
    Sink& add(int rank, Stream stream, sys::UniqueFd fd);

    Loop& loop_;
    std::string directory_;
    std::size_t width_;
    Callbacks callbacks_;
    std::map<std::pair<int, Stream>, File> files_;
};

}  // namespace batchai::launcher
