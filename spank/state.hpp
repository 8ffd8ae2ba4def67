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

}  // namespace batchai::spank
