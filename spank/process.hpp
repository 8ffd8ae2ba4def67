// SPDX-License-Identifier: Apache-2.0
//
// Starts the plugin's programs and waits for them, with a deadline. Used inside srun, sbatch,
// slurmd and slurmstepd: no thread, no signal handler, nothing inherited but what is named here.
#pragma once

#include <stddef.h>

namespace batchai::spank {

// The owner of a file in memory: what a program reads from or writes to.
class MemoryFile {
  public:
    MemoryFile();
    ~MemoryFile();
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    int fd() const { return fd_; }
    void add(const char* data, size_t length);
    void add_field(const char* name, const char* value);  // "name=value" and a zero byte
    void rewind();
    // All of it, zero-terminated, to be freed by the caller; null without memory.
    char* text() const;

  private:
    int fd_ = -1;
};

// While it lives, we die with our parent, slurmstepd: once that is killed, the job may be over at
// any time, and what we set up would stay. Not for what the user runs, so not for longer.
class DyingWithParent {
  public:
    DyingWithParent();
    ~DyingWithParent();
    DyingWithParent(const DyingWithParent&) = delete;
    DyingWithParent& operator=(const DyingWithParent&) = delete;
};

struct Program {
    const char* path;          // with a slash
    const char* const* argv;   // ends with a null pointer
    char* const* environment;  // ends with a null pointer
    int in = -1;               // standard streams; -1: /dev/null
    int out = -1;
    int err = -1;
    int extra = -1;  // becomes file descriptor 3
    int seconds = 0;
    char* const* limits = nullptr;  // the environment that its resource limits are in
};

// Runs it to its end. Its process name is its own, it dies with us, its signals are default and not
// blocked (Slurm blocks some in task_init_privileged, and never signals what is called slurmstepd).
// Returns its exit status, 128+N for a signal, kTimedOut after the deadline, kNotStarted.
inline constexpr int kTimedOut = -1;
inline constexpr int kNotStarted = -2;
int run(const Program& program);

}  // namespace batchai::spank
