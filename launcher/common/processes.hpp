// SPDX-License-Identifier: Apache-2.0
//
// Processes in proc(5), and those below this one. Agent and guard are child subreapers, so a
// process whose parent has ended becomes their child and is found here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchai::launcher {

// The text of a file in /proc, or of another small file. Empty: it cannot be read.
std::string content_of(const std::string& path);

// The fields of /proc/PID/stat that are used here.
struct ProcessStat {
    char state = 0;  // 'R' running, 'T' stopped, 'D' waiting for a disk
    pid_t parent = -1;
    unsigned flags = 0;                  // PF_ in the kernel's include/linux/sched.h
    unsigned long user = 0, system = 0;  // CPU time, in clock ticks
    long threads = 0;
    std::uint64_t start = 0;        // clock ticks since boot
    unsigned long of_children = 0;  // CPU time of children that have ended, in clock ticks
    long resident = 0;              // pages
};

// nullopt: there is no such process.
std::optional<ProcessStat> stat_of(pid_t pid);
// The same from the file's text.
std::optional<ProcessStat> parse_stat(std::string_view text);

// Whether a process is exiting or gone. It is true already when the process's sockets are closed,
// before wait() returns it.
bool is_ending(pid_t pid);

// A socket, and the time by which it was open, in clock ticks since boot.
struct OpenSocket {
    std::uint64_t inode = 0;
    std::uint64_t time = 0;
};
std::uint64_t ticks_since_boot();

// The process that has opened each of the sockets; 0: it has ended or closed it. Processes that it
// has started since may hold the socket too; they do not count. Reads all of /proc, in
// milliseconds.
std::vector<pid_t> openers_of(const std::vector<OpenSocket>& sockets);

// Whether `pid` is `ancestor` or one of its descendants.
bool is_below(pid_t pid, pid_t ancestor);

// The child processes of a process, also of those that its other threads have started.
std::vector<pid_t> children_of(pid_t pid);

// What a process and those below it use. Of the threads only the first one's children count: to
// look at each thread would cost too much to do it each second.
struct Usage {
    char state = 0;       // the letter of the busiest one: R, D, T, others
    double cpu = 0;       // seconds
    double resident = 0;  // bytes; memory that processes share counts for each
};
Usage usage_of(pid_t pid);

// The process that does the work of a program. If a process only waits for a single child, as
// shells do, it is that child, and so on.
pid_t working_process(pid_t pid);

// Whether a child of this process is batchai-launch, as a user starts it.
bool has_child_launch();

// Sends the signal to every child of this process. Returns the number of children.
int signal_children(int signal);

// Kills all descendants of this process and waits for them.
void kill_descendants();

}  // namespace batchai::launcher
