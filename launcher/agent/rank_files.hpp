// SPDX-License-Identifier: Apache-2.0
//
// RankFiles: the files that hold each rank's output. With --output-dir they are DIR/rank.07/stdout
// and stderr; the number is as wide as the largest one, as under horovodrun. A job file's toolkit
// may name others. The last part of a path has "{stream}", which stands for stdout and stderr.
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

// The path of --output-dir. ranks: of the whole job.
std::string path_of_rank(const std::string& directory, int rank, int ranks);

class RankFiles {
  public:
    struct Callbacks {
        std::function<void(std::uint64_t bytes)> on_written;  // to each file
        std::function<void(const Sink::Failure&)> on_failure;
        std::function<void()> on_idle;  // one of the files is
    };
    RankFiles(Loop& loop, Callbacks callbacks);

    // Before the rank starts: two more files of it, anew. Those of another job are emptied.
    sys::Result<void> make(int rank, const std::string& path);
    // The same, but what is in them stays, and the line, if it is not empty, comes below it.
    sys::Result<void> extend(int rank, const std::string& path, const std::string& line);
    // Before the rank starts again: as extend(). Files that cannot be opened are no reason to end a
    // job that has begun: they are treated as those that cannot be written.
    void reopen(int rank, const std::string& path, const std::string& line);
    // Files that each piece of a rank's output goes to.
    int count(int rank) const { return static_cast<int>(files_.count({rank, Stream::out})); }
    void write(int rank, Stream stream, const std::string& bytes);
    // Nothing more comes: see Sink::finish().
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
