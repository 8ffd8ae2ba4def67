// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/starter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <thread>
#include <utility>

#include "launcher/common/exit_code.hpp"
#include "launcher/common/limits.hpp"
#include "launcher/env/env.hpp"
#include "slurm/command.hpp"
#include "slurm/host_list.hpp"
#include "sys/c_strings.hpp"
#include "sys/clock.hpp"
#include "sys/paths.hpp"
#include "sys/pipe.hpp"
#include "sys/text.hpp"

namespace batchai::launcher {
namespace {

// The longest time for the cleanup, because a node that is down does not answer.
constexpr std::chrono::seconds kSweep{10};

constexpr std::size_t kMost = 4096;  // bytes of srun's text that are kept

// Runs argv, whose first word is a path, with `input` as its standard input. Its standard error
// comes to this process.
sys::Result<Starter> start_process(const std::vector<std::string>& argv,
                                   const env::Environment& environment, const std::string& input) {
    auto stdin_pipe = sys::make_pipe(), stderr_pipe = sys::make_pipe();
    if (!stdin_pipe) return stdin_pipe.error();
    if (!stderr_pipe) return stderr_pipe.error();
    const sys::CStrings args(argv), entries(sys::entries_of(environment));

    Starter starter;
    starter.name = argv[0];
    starter.pid = ::fork();
    if (starter.pid < 0) return fork_error(errno);
    if (starter.pid == 0) {
        // The terminal's Ctrl-C must reach the root only, which then ends the job in order. The
        // root's death must not send a signal to these processes either: srun would kill the agents
        // before they have cleaned up. The agents notice the end of their connection.
        ::setsid();
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        ::dup2(stdin_pipe->read.get(), 0);
        ::dup2(stderr_pipe->write.get(), 2);
        ::execvpe(args.get()[0], args.get(), entries.get());
        ::_exit(errno == ENOENT ? kNotFound : kNotExecutable);
    }
    // One line fits into any pipe.
    if (::write(stdin_pipe->write.get(), input.data(), input.size()) !=
        static_cast<ssize_t>(input.size())) {
        return sys::errno_error("writing to " + argv[0]);
    }
    starter.errors = std::move(stderr_pipe->read);
    return starter;
}

// Removes srun's label, as in "1: text". Returns the task; -1: the line is srun's own.
int take_label(std::string& line) {
    const auto begin = line.find_first_not_of(' ');
    const auto end = line.find_first_not_of("0123456789", begin);
    if (begin == line.npos || end == line.npos || end == begin || line.compare(end, 2, ": ") != 0)
        return -1;
    const int task = std::atoi(line.c_str() + begin);
    line.erase(0, end + 2);
    return task;
}

sys::Result<std::vector<std::string>> srun_command(const Allocation& allocation,
                                                   const char* order) {
    const auto srun = slurm::find_command("srun");
    if (!srun) return srun.error();
    const std::string nodes = std::to_string(allocation.nodes.size());
    std::vector<std::string> command{*srun,
                                     "--overlap",
                                     "--mpi=none",
                                     "--export=ALL",
                                     "--nodes=" + nodes,
                                     "--ntasks=" + nodes,
                                     "--ntasks-per-node=1",
                                     "--mem=0",
                                     "--kill-on-bad-exit=0",
                                     "--label",
                                     "--quiet"};
    if (allocation.reduced) {
        command.push_back(fmt::format("--nodelist={}", fmt::join(allocation.nodes, ",")));
    }
    if (allocation.component) {
        command.push_back(fmt::format("--het-group={}", *allocation.component));
    }
    // With this option the step gets all resources of the job.
    if (BATCHAI_EXTERNAL_LAUNCHER) {
        command.emplace_back("--external-launcher");
    } else {
        const std::vector<std::string>& options = allocation.gpus.step_options;
        command.insert(command.end(), options.begin(), options.end());
    }
    command.insert(command.end(), {sys::own_executable(), order});
    return command;
}

}  // namespace

env::Environment environment_of_job(const Allocation& allocation) {
    env::Environment environment = env::current();
    if (!allocation.component) return environment;
    return of_component(std::move(environment), *allocation.component);
}

env::Environment srun_environment(env::Environment environment) {
    std::erase_if(environment, [](const auto& entry) {
        const std::string& name = entry.first;
        return env::is_slurms(name) && !env::is_of_job(name);
    });
    environment["SLURM_CPU_BIND"] = "none";
    return environment;
}

sys::Result<void> Starters::start(const Allocation& allocation, Bootstrap bootstrap) {
    if (!local_) {
        const auto command = srun_command(allocation, "--agent");
        if (!command) return command.error();
        auto srun = start_process(*command, srun_environment(environment_of_job(allocation)),
                                  encode(bootstrap));
        if (!srun) return srun.error();
        srun->name = "srun";
        add(std::move(*srun));
        return {};
    }
    for (std::size_t node = 0; node < allocation.nodes.size(); ++node) {
        bootstrap.node = static_cast<int>(node);
        bootstrap.name = allocation.nodes[node];
        auto agent =
            start_process({sys::own_executable(), "--agent"}, env::current(), encode(bootstrap));
        if (!agent) return agent.error();
        agent->name = bootstrap.name;
        add(std::move(*agent));
    }
    return {};
}

void Starters::add(Starter starter) {
    ::fcntl(starter.errors.get(), F_SETFL, O_NONBLOCK);
    Stream& stream = *streams_.emplace_back(std::make_unique<Stream>());
    stream.poll = std::make_unique<Poll>(loop_, std::move(starter.errors),
                                         [this, &stream](int) { read(stream); });
    starters_.push_back(std::move(starter));
}

const Starter* Starters::reap(pid_t pid) {
    const auto found = std::find_if(starters_.begin(), starters_.end(),
                                    [pid](const Starter& starter) { return starter.pid == pid; });
    if (found == starters_.end()) return nullptr;
    found->pid = -1;
    catch_up();
    return &*found;
}

bool Starters::all_ended() const {
    return std::all_of(starters_.begin(), starters_.end(),
                       [](const Starter& starter) { return starter.pid < 0; });
}

void Starters::signal(int signal) const {
    for (const Starter& starter : starters_)
        if (starter.pid > 0) ::kill(starter.pid, signal);
}

void Starters::catch_up() {
    for (const auto& stream : streams_) read(*stream);
}

void Starters::read(Stream& stream) {
    std::array<char, 4096> bytes{};
    while (stream.poll) {
        const ssize_t size = ::read(stream.poll->fd(), bytes.data(), bytes.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return;
        if (size <= 0) {
            stream.poll.reset();
            if (!stream.line.empty()) take(std::exchange(stream.line, {}));
            return;
        }
        for (const char byte : std::string_view(bytes.data(), static_cast<std::size_t>(size))) {
            if (byte != '\n' && stream.line.size() < kMost) {
                stream.line += byte;
            } else {
                take(std::exchange(stream.line, byte == '\n' ? "" : std::string(1, byte)));
            }
        }
    }
}

void Starters::take(std::string line) {
    const int task = local_ ? -1 : take_label(line);
    if (const auto notice = DeathNotice::from_line(line)) return events_.on_agent_died(*notice);
    if (std::string step = cancelled_step_in(line); !step.empty())
        cancelled_step_ = {std::move(step), sys::wall_clock()};
    if (task >= 0)
        last_lines_[task] = line;
    else if (const auto ended = ended_agent_in(line))
        events_.on_agent_ended(*ended);
    if (local_) {
        std::fputs((sys::printable(line) + "\n").c_str(), stderr);
    } else if (kept_.size() < kMost) {
        kept_ += line + "\n";
    }
}

std::string Starters::last_line(int task) const {
    const auto found = last_lines_.find(task);
    return found == last_lines_.end() ? std::string() : found->second;
}

// Omits srun's warning about SLURM_CPU_BIND=none on clusters without binding.
void Starters::say() {
    std::istringstream lines(std::exchange(kept_, {}));
    for (std::string line; std::getline(lines, line);) {
        if (line.find("lacks support for cpu binding") == std::string::npos) {
            std::fputs((sys::printable(line) + "\n").c_str(), stderr);
        }
    }
}

// Not "CANCELLED AT ... DUE TO NODE FAILURE", "TIME LIMIT" and others: no user has asked for that.
std::string cancelled_step_in(std::string_view line) {
    constexpr std::string_view kBegin = "*** STEP ", kEnd = " CANCELLED AT ";
    const auto begin = line.find(kBegin);
    if (begin == line.npos || line.find(kEnd, begin) == line.npos ||
        line.find(" DUE TO ", begin) != line.npos)
        return {};
    const std::string_view step = line.substr(begin + kBegin.size());
    return std::string(step.substr(0, step.find(' ')));
}

std::optional<EndedAgent> ended_agent_in(const std::string& line) {
    static const std::regex kEnd(R"(.*srun: error: ([^ ]+): tasks? ([0-9]+)[^ ]*: (.+))");
    static const std::regex kNode(
        R"(.*srun: error: Task launch for .* failed on node ([^ ]+): (.+))");
    static const std::regex kTask(R"(.*srun: error: task ([0-9]+) launch failed: (.+))");
    std::smatch parts;
    if (std::regex_match(line, parts, kNode)) return EndedAgent{-1, parts[1], parts[2]};
    if (std::regex_match(line, parts, kTask))
        return EndedAgent{std::atoi(parts[1].str().c_str()), {}, parts[2]};
    if (!std::regex_match(line, parts, kEnd)) return std::nullopt;
    const auto nodes = slurm::expand_hostlist(parts[1]);
    if (nodes.empty()) return std::nullopt;
    constexpr std::string_view kExited = "Exited with ";
    const std::string how = parts[3];
    return EndedAgent{std::atoi(parts[2].str().c_str()), nodes.front(),
                      how.starts_with(kExited) ? how.substr(kExited.size()) : how};
}

void sweep_nodes(const Allocation& allocation) {
    const auto command = srun_command(allocation, "--sweep");
    if (!command) return;
    auto srun = start_process(*command, srun_environment(environment_of_job(allocation)), {});
    if (!srun) return;
    const auto deadline = std::chrono::steady_clock::now() + kSweep;
    while (::waitpid(srun->pid, nullptr, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > deadline) ::kill(srun->pid, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

}  // namespace batchai::launcher
