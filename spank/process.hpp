// SPDX-License-Identifier: Apache-2.0
//
// Starts the plugin's programs and waits for them, with a deadline. It runs inside srun, sbatch,
// slurmd and slurmstepd. So it starts no thread and sets no signal handler, and a program inherits
// only the descriptors named here.
#pragma once

#include <stddef.h>

namespace batchai::spank {

// A file in memory, from which a program reads or to which it writes.
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
    // The whole text, zero-terminated; the caller frees it. Null if there is no memory.
    char* text() const;

  private:
    int fd_ = -1;
};

// While an object of this class exists, this process dies with its parent, slurmstepd. After
// slurmstepd is killed, the job may be over at any time, and what we set up would stay. The user's
// programs must not have this, so destroy the object before they start.
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
    char* const* limits = nullptr;  // environment with the program's resource limits
};

// Runs the program and waits for its end. It has its own process name, because Slurm never signals
// a process called slurmstepd. It dies with this process. Its signals have their default actions
// and are not blocked (Slurm blocks some in task_init_privileged). If SIGTERM is blocked here, the
// program gets one that is sent to this process. Returns its exit status, 128+N
// for a signal, kTimedOut after the deadline, or kNotStarted.
inline constexpr int kTimedOut = -1;
inline constexpr int kNotStarted = -2;
int run(const Program& program);

// A command of the Slurm that runs this plugin, such as srun: in ../bin beside the program of this
// process, slurmstepd, so that it is of the same Slurm. If it is not there: in the directory of
// BATCHAI_SRUN, the path that CMake was given or has found. Only root decides where: the PATH,
// which a job's user sets, is not read.
struct SlurmCommand {
    explicit SlurmCommand(const char* name);
    char path[4096];
};

}  // namespace batchai::spank
