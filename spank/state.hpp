// SPDX-License-Identifier: Apache-2.0
//
// A job's state on this node (protocol.hpp), as the plugin reads it: one open and one read.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "spank/options.hpp"

namespace batchai::spank {

// The owner of a file descriptor.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() { reset(-1); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    void reset(int fd);

  private:
    int fd_ = -1;
};

// The owner of the state's text.
class State {
  public:
    State() = default;
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    // Reads <directory>/state. False: there is none, or it belongs to another user or to an earlier
    // run of a requeued job.
    bool read(int directory, uid_t uid, uint32_t restart);

    // A field's value; empty if the field is missing.
    const char* field(const char* name) const;
    bool ready() const;
    bool failed() const;
    Options options() const;

    // The task's environment: calls f(entry) for each "NAME=VALUE".
    template <class F>
    void for_each_variable(F f) const {
        for (const char* entry = environment_; entry && entry < end_; entry = next(entry)) f(entry);
    }

  private:
    static const char* next(const char* entry);

    char* text_ = nullptr;
    const char* environment_ = nullptr;
    const char* end_ = nullptr;
};

// The name of a job's directory below kJobsDirectory.
struct JobName {
    JobName(const char* cluster, uint32_t job);
    char text[128];
};

// The job's directory. Negative: it does not exist.
int open_job_directory(const JobName&);

// True while the witness process lives (helper/root/submission.hpp). It was alive at the set-up, or
// when slurmctld last confirmed the owner of the state. While it lives, Slurm gives the job's
// number to no other submission.
bool has_witness(int directory);

// Once: runs the preparation of a node once per job, in the first task that comes. Each task opens
// root's file about it (protocol.hpp), and only the plugin has it open: no process of the user gets
// the descriptor. Other tasks wait for the file's lock. Its text is the result:
//   ""               not started
//   "started\n"      a task prepares the node; without a lock, that task was killed
//   "ok\n"           done
//   "failed: LINE\n" failed; it is not tried again
class Once {
  public:
    // Opens the file in the job's directory. Call as root. False: the file does not exist.
    bool open(int directory);

    enum class Result { none, started, succeeded, failed };
    // line: the line of the failure, else empty.
    Result read(char* line, size_t size) const;
    bool note_start() const;
    bool note_success() const;
    bool note_failure(const char* line) const;

    // False: another task has the lock. A program that waits with lock_file(), which is open for
    // reading only, takes the lock for this process.
    bool try_lock() const;
    int lock_file() const { return lock_.get(); }

  private:
    Descriptor lock_;
    Descriptor result_;
};

}  // namespace batchai::spank
