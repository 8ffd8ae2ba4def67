// SPDX-License-Identifier: Apache-2.0
//
// StackReader: reads the stack of a process for a report of a hang. It tries three sources in this
// order. A Python rank writes its own stack if our horovod package has set a signal handler
// (collectives/comm/progress.hpp). Otherwise gdb reads the stack, if it is installed and may
// attach. Otherwise /proc shows the place in the kernel.
//
// No call blocks: the answer comes later, after 13 seconds at most. The process continues as
// before; a stopped process stays stopped.
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/message.hpp"

namespace batchai::launcher {

class StackReader {
  public:
    // environment: its PATH is searched for gdb.
    StackReader(Loop& loop, std::map<std::string, std::string> environment,
                std::function<void(const Stack&)> on_stack);

    void read(int rank, pid_t pid, const std::string& stack_file);
    // A child of this process that has ended; it may be a debugger.
    void reap(pid_t pid);

  private:
    struct Task {
        Stack stack;
        std::string file;  // the file that a Python rank writes
        std::unique_ptr<Timer> timer;
        std::unique_ptr<Poll> output, error;
        std::string text;
        pid_t debugger = -1;
        bool stopped = false;  // the process was stopped before
        bool killed = false;   // the debugger was killed
        int looks = 0;
    };
    void ask_python(Task& task);
    void look_at_file(Task& task);
    void ask_debugger(Task& task);
    void end_debugger(Task& task);
    void ask_kernel(Task& task);
    void conclude(Task& task, const char* source, std::vector<std::string> lines);

    Loop& loop_;
    std::map<std::string, std::string> environment_;
    std::function<void(const Stack&)> on_stack_;
    std::list<Task> tasks_;
};

// The useful lines of faulthandler's text. The thread that got the signal comes first.
std::vector<std::string> python_frames(const std::string& text);
// The useful lines of gdb's text: threads and frames.
std::vector<std::string> debugger_frames(const std::string& text);

}  // namespace batchai::launcher
