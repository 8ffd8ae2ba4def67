// SPDX-License-Identifier: Apache-2.0
//
// StackReader: reads the stack of a process for a report of a hang. It tries three sources in this
// order. A Python process writes its own stack, where our sitecustomize has set a signal handler
// (collectives/python/startup). Otherwise gdb reads the stack, if it is installed and may attach.
// Otherwise /proc shows the place in the kernel.
//
// No call blocks: the answer may come later, after 13 seconds at most. The process continues as
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
    enum class Sources {
        python,  // which answers within 2 seconds, and costs little
        all
    };
    using OnStack = std::function<void(const Stack&)>;

    // environment: its PATH is searched for gdb.
    StackReader(Loop& loop, std::map<std::string, std::string> environment);

    // then: also called if no source has it, with no source and no lines.
    void read(int rank, pid_t pid, const std::string& stack_file, Sources sources, OnStack then);
    // A child of this process that has ended; it may be a debugger.
    void reap(pid_t pid);

  private:
    struct Task {
        Stack stack;
        std::string file;  // the file that a Python rank writes
        Sources sources = Sources::all;
        OnStack then;
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
    std::list<Task> tasks_;
};

// The first process of a rank, its parents first, that writes its stacks to the file and does not
// only wait for a child that does; 0: none.
pid_t python_process(pid_t first, const std::string& stack_file);
// "train.py:21 in step": the innermost frame of the program's own code, or else of any code; of the
// frames of python_frames(). Empty: there is no frame.
std::string python_line(const std::vector<std::string>& frames);
// The useful lines of faulthandler's text. The thread that got the signal comes first.
std::vector<std::string> python_frames(const std::string& text);
// The useful lines of gdb's text: threads and frames.
std::vector<std::string> debugger_frames(const std::string& text);

}  // namespace batchai::launcher
