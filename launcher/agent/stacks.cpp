// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/stacks.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <regex>
#include <sstream>

#include "launcher/agent/rank_state.hpp"
#include "launcher/agent/spawn.hpp"
#include "launcher/common/processes.hpp"

namespace batchai::launcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDebugger{10'000};
constexpr milliseconds kLook{50};
constexpr int kLooks = 40;
constexpr std::size_t kLines = 40, kLongest = 200, kMostText = 1 << 20;

// Whether the process has the file open. One that has closed it may have another file by its
// number. Only a file of that name is looked at: another one may be on a server that is gone.
bool holds(pid_t pid, const std::string& path) {
    namespace fs = std::filesystem;
    struct stat file {};
    struct stat open {};
    if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return false;
    const fs::path name = fs::path(path).filename();
    std::error_code failure, closed;
    fs::directory_iterator entry(fmt::format("/proc/{}/fd", pid), failure), end;
    for (; !failure && entry != end; entry.increment(failure)) {
        if (fs::read_symlink(entry->path(), closed).filename() != name) continue;
        if (::stat(entry->path().c_str(), &open) == 0 && open.st_ino == file.st_ino &&
            open.st_dev == file.st_dev) {
            return true;
        }
    }
    return false;
}

bool waits_for_child(pid_t pid) {
    return content_of(fmt::format("/proc/{}/wchan", pid)) == "do_wait";
}

bool catches(pid_t pid, int signal) {
    std::istringstream status(content_of(fmt::format("/proc/{}/status", pid)));
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with("SigCgt:")) continue;
        return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
    }
    return false;
}

void add_line(std::vector<std::string>& lines, std::string line) {
    if (line.size() > kLongest) line = line.substr(0, kLongest) + "...";
    if (lines.size() < kLines) return lines.push_back(std::move(line));
    lines.back() = "...";
}

// Reads the available bytes. False: end of file, or no bytes available.
bool read_some(int fd, std::string& text) {
    std::array<char, 1 << 14> bytes;
    const ssize_t size = ::read(fd, bytes.data(), bytes.size());
    if (size <= 0) return false;
    if (text.size() < kMostText) text.append(bytes.data(), static_cast<std::size_t>(size));
    return true;
}

}  // namespace

std::vector<std::string> python_frames(const std::string& text) {
    std::vector<std::string> current, others, *thread = &others;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) continue;
        if (line.starts_with("Current thread")) thread = &current;
        if (line.starts_with("Thread")) thread = &others;
        add_line(*thread, line);
    }
    for (std::string& line : others) add_line(current, std::move(line));
    return current;
}

// A frame is '  File "/home/alice/train.py", line 21 in step'. The innermost one comes first.
std::string python_line(const std::vector<std::string>& frames) {
    static const std::regex kFrame(R"x(\s*File "(.*)", line (\d+) in (.*))x");
    static const std::regex kLibrary(
        "/(site|dist)-packages/|/lib(64)?/python[0-9]|/batchai/(python|startup)/|^<frozen ");
    std::string innermost;
    for (const std::string& frame : frames) {
        std::smatch parts;
        if (!std::regex_match(frame, parts, kFrame)) {
            if (innermost.empty()) continue;
            if (frame.starts_with("Thread")) break;  // the others serve this one
        }
        if (parts.empty()) continue;
        const std::string file = parts[1];
        std::string line = fmt::format("{}:{} in {}", file.substr(file.rfind('/') + 1),
                                       parts[2].str(), parts[3].str());
        if (!std::regex_search(file, kLibrary)) return line;
        if (innermost.empty()) innermost = std::move(line);
    }
    return innermost;
}

pid_t python_process(pid_t first, const std::string& stack_file) {
    std::vector<pid_t> processes{first};
    pid_t found = 0;
    for (std::size_t i = 0; i < processes.size(); ++i) {
        const pid_t pid = processes[i];
        if (catches(pid, coll::kStackSignal) && holds(pid, stack_file)) {
            found = pid;
            if (!waits_for_child(pid)) return pid;  // else it has started the program
        }
        const auto children = children_of(pid);
        processes.insert(processes.end(), children.begin(), children.end());
    }
    return found;
}

std::vector<std::string> debugger_frames(const std::string& text) {
    std::vector<std::string> frames;
    std::istringstream lines(text);
    bool begun = false;  // false: gdb's output still describes where it stopped the process
    for (std::string line; std::getline(lines, line);) {
        begun = begun || line.starts_with("Thread ");
        if (begun && (line.starts_with("Thread ") || line.starts_with("#"))) add_line(frames, line);
    }
    return frames;
}

StackReader::StackReader(Loop& loop, std::map<std::string, std::string> environment)
    : loop_(loop), environment_(std::move(environment)) {}

void StackReader::read(int rank, pid_t pid, const std::string& stack_file, Sources sources,
                       OnStack then) {
    Task& task = tasks_.emplace_back();
    task.stack.rank = rank;
    task.stack.pid = pid;
    task.file = stack_file;
    task.sources = sources;
    task.then = std::move(then);
    task.stopped = process_letter(pid) == 'T';
    if (!task.stopped && catches(pid, coll::kStackSignal) && holds(pid, stack_file)) {
        return ask_python(task);
    }
    ask_debugger(task);
}

void StackReader::ask_python(Task& task) {
    if (::truncate(task.file.c_str(), 0) != 0 || ::kill(task.stack.pid, coll::kStackSignal) != 0) {
        return ask_debugger(task);
    }
    task.timer = std::make_unique<Timer>(loop_, [this, &task] { look_at_file(task); });
    task.timer->start(kLook, kLook);
}

// The file is complete when it has stopped growing.
void StackReader::look_at_file(Task& task) {
    const std::string text = content_of(task.file);
    const bool complete = !text.empty() && text == task.text;
    task.text = text;
    if (!complete && ++task.looks < kLooks) return;
    task.timer->stop();
    if (text.empty()) return ask_debugger(task);
    conclude(task, "Python", python_frames(text));
}

void StackReader::ask_debugger(Task& task) {
    if (task.sources == Sources::python) return conclude(task, "", {});
    task.text.clear();
    // A debugger would wait for a process that waits for a disk, and would leave it stopped.
    if (process_letter(task.stack.pid) == 'D') return ask_kernel(task);
    SpawnRequest request;
    request.argv = {"gdb",  "-nx",
                    "-nh",  "-batch",
                    "-iex", "set auto-load off",
                    "-iex", "set debuginfod enabled off",
                    "-p",   std::to_string(task.stack.pid),
                    "-ex",  "thread apply all -ascending backtrace 16"};
    request.environment = environment_;
    request.directory = "/";
    Spawned spawned;
    if (spawn(request, spawned).code != 0) return ask_kernel(task);
    task.debugger = spawned.pid;
    const auto follow = [this](sys::UniqueFd fd, std::string& text, std::unique_ptr<Poll>& poll) {
        poll = std::make_unique<Poll>(loop_, std::move(fd), [&text, &poll](int readable) {
            if (!read_some(readable, text)) poll->stop();  // reap() reads the rest
        });
    };
    follow(std::move(spawned.output), task.text, task.output);
    follow(std::move(spawned.error), task.text, task.error);
    task.timer = std::make_unique<Timer>(loop_, [&task] {
        task.killed = true;
        ::kill(-task.debugger, SIGKILL);
    });
    task.timer->start(kDebugger);
}

void StackReader::reap(pid_t pid) {
    for (Task& task : tasks_) {
        if (task.debugger == pid) return end_debugger(task);
    }
}

void StackReader::end_debugger(Task& task) {
    task.debugger = -1;
    task.timer->stop();
    // SIGCONT also cancels the pending SIGSTOP of a debugger that was killed early.
    if (!task.stopped && (task.killed || process_letter(task.stack.pid) == 'T')) {
        ::kill(task.stack.pid, SIGCONT);
    }
    while (read_some(task.output->fd(), task.text)) continue;
    task.output.reset();
    task.error.reset();
    auto frames = debugger_frames(task.text);
    if (frames.empty()) return ask_kernel(task);
    conclude(task, "gdb", std::move(frames));
}

void StackReader::ask_kernel(Task& task) {
    std::vector<std::string> lines;
    for (const char* name : {"wchan", "syscall", "stack"}) {
        std::istringstream text(content_of(fmt::format("/proc/{}/{}", task.stack.pid, name)));
        for (std::string line; std::getline(text, line);) {
            if (line != "0") add_line(lines, fmt::format("{}: {}", name, line));
        }
    }
    conclude(task, "kernel", std::move(lines));
}

void StackReader::conclude(Task& task, const char* source, std::vector<std::string> lines) {
    Stack stack = std::move(task.stack);
    const OnStack then = std::move(task.then);
    stack.source = source;
    stack.lines = std::move(lines);
    tasks_.remove_if([&task](const Task& other) { return &other == &task; });
    then(stack);
}

}  // namespace batchai::launcher
