// SPDX-License-Identifier: Apache-2.0
//
// Where the output of the node's ranks goes: RankFiles, RankOutput.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "launcher/common/channel.hpp"
#include "launcher/common/message.hpp"
#include "launcher/common/program.hpp"
#include "launcher/common/sink.hpp"
#include "launcher/env/env.hpp"
#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::launcher {

// The path of a rank's files in --output-dir. ranks: the number of ranks of the whole job.
std::string path_of_rank(const std::string& directory, int rank, int ranks);

// The files that hold each rank's output. With --output-dir they are DIR/rank.07/stdout and stderr;
// the number is as wide as the largest one, as under horovodrun. A job file's toolkit may name
// others. In the last part of a path, "{stream}" stands for stdout or stderr.
class RankFiles {
  public:
    class Host {
      public:
        virtual void written(std::uint64_t bytes) = 0;  // bytes, for each file
        virtual void failed(const Sink::Failure& failure) = 0;
        virtual void idle_again() = 0;  // a file has written all its output

      protected:
        ~Host() = default;
    };
    RankFiles(Loop& loop, Host& host) : loop_(loop), host_(host) {}

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
    Host& host_;
    std::multimap<std::pair<int, Stream>, File> files_;
};

// Sends the output of the node's ranks to the root, to files of their own, or to both. It counts
// the output that neither has taken yet. Above a limit, the agent stops reading from the ranks.
class RankOutput : private RankFiles::Host {
  public:
    class Host {
      public:
        virtual void hold_output(bool hold) = 0;  // stop reading from the ranks, or read again
        virtual void output_idle() = 0;           // idle() may have become true

      protected:
        ~Host() = default;
    };
    // node: the name of this node.
    RankOutput(Loop& loop, Channel& root, std::string node, Host& host)
        : root_(root), node_(std::move(node)), host_(host), files_(loop, *this) {}

    // Opens the files of this node's ranks before they start. environment: the job's on this node;
    // paths may use its variables.
    sys::Result<void> open(const Launch& job, int node, const env::Environment& environment,
                           const Meeting& meeting);
    // The same for a rank of a further job, before it starts. name: RankMap::name().
    sys::Result<void> open_further(const Launch& launch, int rank, std::string name);
    void write(int rank, Stream stream, std::string bytes);
    // The root, or a file, has taken this many bytes.
    void taken(std::uint64_t bytes);
    // No more output follows: see Sink::finish().
    void finish() { files_.finish(); }
    // Whether the files have all output.
    bool idle() const { return files_.idle(); }

  private:
    void written(std::uint64_t bytes) override { taken(bytes); }
    void failed(const Sink::Failure& failure) override { root_.send(misplaced_by(failure, node_)); }
    void idle_again() override { host_.output_idle(); }

    Channel& root_;
    const std::string node_;
    Host& host_;
    RankFiles files_;
    std::set<int> own_;  // ranks whose output goes only to a file, not to the root
    std::uint64_t untaken_ = 0;
};

}  // namespace batchai::launcher
