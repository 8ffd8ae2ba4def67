// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/spawn.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

#include "launcher/common/exit_code.hpp"
#include "launcher/common/limits.hpp"
#include "sys/c_strings.hpp"
#include "sys/child.hpp"
#include "sys/pipe.hpp"
#include "sys/shell.hpp"

namespace batchai::launcher {
namespace {

// The child's message to the agent if it cannot become the rank.
struct Report {
    enum class Step { pipes, directory, program } step;
    int code;
};

// A file's path, relative to the rank's directory, for this process.
std::string at(const SpawnRequest& request, const std::string& file) {
    return file.starts_with("/") ? file : request.directory + "/" + file;
}

// The cause of ENOENT for a program whose file is there.
std::string missing_interpreter(const SpawnRequest& request, const std::string& file) {
    char start[256] = {};
    const sys::UniqueFd fd(::open(at(request, file).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd || ::read(fd.get(), start, sizeof start - 1) <= 2 || start[0] != '#' || start[1] != '!')
        return "its dynamic loader is missing on this node";
    const std::string_view line(start, std::strcspn(start, "\n"));
    if (line.ends_with('\r'))
        return "its first line ends with a carriage return, as on Windows: remove them with "
               "sed -i 's/\\r$//' " +
               sys::shell_quoted(file);
    const std::string_view words =
        line.substr(std::min(line.find_first_not_of(" \t", 2), line.size()));
    return "its interpreter " + std::string(words.substr(0, words.find_first_of(" \t"))) +
           " is missing on this node";
}

SpawnFailure explain(const Report& report, const SpawnRequest& request, const std::string& path) {
    const std::string why = std::string(": ") + std::strerror(report.code);
    if (report.step == Report::Step::directory) {
        return {kOwnFailure, "entering " + request.directory + why};
    }
    if (report.step == Report::Step::pipes) return {kOwnFailure, "connecting pipes" + why};
    if (report.code == ENOENT && ::access(at(request, path).c_str(), F_OK) == 0)
        return {kNotExecutable, request.argv[0] + ": " + missing_interpreter(request, path)};
    const bool found = report.code != ENOENT && report.code != ENOTDIR;
    return {found ? kNotExecutable : kNotFound, request.argv[0] + why};
}

// Why a file cannot be executed: an errno value; 0: it can.
int file_error(const SpawnRequest& request, const std::string& file) {
    struct stat info {};
    if (::stat(at(request, file).c_str(), &info) != 0) return errno;
    if (S_ISDIR(info.st_mode)) return EISDIR;
    return S_ISREG(info.st_mode) ? 0 : EACCES;
}

// The program's file, found as execvp would find it with the rank's PATH and directory.
SpawnFailure find_program(const SpawnRequest& request, std::string& path) {
    const std::string& name = request.argv[0];
    if (name.find('/') != std::string::npos) {
        path = name;
        const int error = file_error(request, name);
        return error == 0 ? SpawnFailure{} : explain({Report::Step::program, error}, request, path);
    }
    const auto variable = request.environment.find("PATH");
    std::string_view rest = variable == request.environment.end()
                                ? std::string_view("/usr/bin:/bin")
                                : variable->second;
    std::string not_executable;
    while (true) {
        const auto colon = rest.find(':');
        const std::string folder(rest.substr(0, colon));
        const std::string file = (folder.empty() ? "." : folder) + "/" + name;
        if (file_error(request, file) == 0) {
            path = file;
            if (::access(file.c_str(), X_OK) == 0) return {};
            not_executable = file;
        }
        if (colon == std::string_view::npos) break;
        rest.remove_prefix(colon + 1);
    }
    if (!not_executable.empty()) return {kNotExecutable, not_executable + ": permission denied"};
    return {kNotFound, name + ": command not found"};
}

struct Child {
    pid_t parent;
    const char* path;
    const char* directory;
    char* const* argv;
    char* const* fallback_argv;  // runs the file with /bin/sh, for a script without "#!"
    char* const* environment;
    const cpu_set_t* cpus;  // may be null
    int input, output, error, report;
    int inherited;  // -1: none
};

[[noreturn]] void fail(const Child& child, Report::Step step) {
    const Report report{step, errno};
    (void)!::write(child.report, &report, sizeof report);
    ::_exit(kOwnFailure);
}

// Runs in the child: only calls that are safe there (sys/child.hpp).
[[noreturn]] void become(const Child& child) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_PTRACER, child.parent);  // the agent's gdb may then attach under Yama, too
    if (::getppid() != child.parent) ::_exit(kOwnFailure);  // the agent died before prctl()
    // Those that the agent ignores, too.
    for (int signal = 1; signal < 32; ++signal) ::signal(signal, SIG_DFL);
    if (::dup2(child.input, 0) < 0 || ::dup2(child.output, 1) < 0 || ::dup2(child.error, 2) < 0) {
        fail(child, Report::Step::pipes);
    }
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    if (child.inherited >= 0) ::fcntl(child.inherited, F_SETFD, 0);
    if (child.cpus != nullptr) ::sched_setaffinity(0, sizeof *child.cpus, child.cpus);
    if (::chdir(child.directory) != 0) fail(child, Report::Step::directory);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(child.path, child.argv, child.environment);
    if (errno == ENOEXEC) ::execve("/bin/sh", child.fallback_argv, child.environment);
    fail(child, Report::Step::program);
}

cpu_set_t cpu_set(const std::vector<int>& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu : cpus) {
        if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
    }
    return set;
}

void set_nonblocking(int fd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

SpawnFailure check_program(const SpawnRequest& request) {
    std::string path;
    if (::access(request.directory.c_str(), X_OK) != 0)
        return explain({Report::Step::directory, errno}, request, path);
    return find_program(request, path);
}

SpawnFailure spawn(const SpawnRequest& request, Spawned& spawned) {
    std::string path;
    if (SpawnFailure failure = find_program(request, path); failure.code != 0) return failure;
    auto output = sys::make_pipe(), error = sys::make_pipe(), report = sys::make_pipe(),
         input = sys::make_pipe();
    sys::UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!output || !error || !report || !input || !null) {
        return {kOwnFailure, std::string("making pipes: ") + std::strerror(errno)};
    }
    const sys::CStrings argv(request.argv), environment(sys::entries_of(request.environment));
    std::vector<std::string> through_shell = request.argv;
    through_shell[0] = path;
    through_shell.insert(through_shell.begin(), "/bin/sh");
    const sys::CStrings fallback(through_shell);
    const cpu_set_t cpus = cpu_set(request.cpus);
    const Child child{::getpid(),
                      path.c_str(),
                      request.directory.c_str(),
                      argv.get(),
                      fallback.get(),
                      environment.get(),
                      request.cpus.empty() ? nullptr : &cpus,
                      request.with_input ? input->read.get() : null.get(),
                      output->write.get(),
                      error->write.get(),
                      report->write.get(),
                      request.inherited};
    spawned.pid = sys::start_child([&child](const sigset_t&) { become(child); });
    if (spawned.pid < 0) return {kOwnFailure, fork_error(errno).message};
    report->write.reset();
    Report failure{};
    if (::read(report->read.get(), &failure, sizeof failure) == sizeof failure) {
        return explain(failure, request, path);
    }
    set_nonblocking(output->read.get());
    set_nonblocking(error->read.get());
    spawned.output = std::move(output->read);
    spawned.error = std::move(error->read);
    if (request.with_input) spawned.input = std::move(input->write);
    return {};
}

}  // namespace batchai::launcher
