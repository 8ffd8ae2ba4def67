// SPDX-License-Identifier: Apache-2.0
//
// A job's output files on this machine: where they are, which the job writes, and how they grow.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/job/job_name.hpp"
#include "job/policy.hpp"
#include "job/spec.hpp"
#include "sys/result.hpp"

namespace batchai::cli {

// id: "stdouterr", or an id of the job's outputDirectories. path: a directory below it, without
// "..".
sys::Result<std::string> output_directory(const NamedJob&, const std::string& id,
                                          const std::string& path);

// The files that a job writes into its stdouterr directory, by its plan. `job file stream` compares
// a name with them, because it would wait to the job's end for a file that no process writes.
//
// The files of the same kind as name (standard output, standard error, execution logs), as text:
// "stdout-0.txt to stdout-3.txt". Empty: the job may write a file of that name, or name is of no
// such kind.
std::string files_instead_of(const std::string& name, const job::JobSpec&, const job::SitePolicy&);

// Continues reading a growing file where the last read stopped. It opens the file each time,
// because NFS makes another machine's writes visible on open.
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
