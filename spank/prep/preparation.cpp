// SPDX-License-Identifier: Apache-2.0
#include "spank/prep/preparation.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include "job/layout.hpp"
#include "job/record.hpp"
#include "spank/limits.hpp"
#include "spank/prep/command.hpp"
#include "spank/prep/memory.hpp"
#include "spank/protocol.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/text.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {

constexpr char kFailed[] = "JobPreparationFailed";
constexpr std::size_t kShownMaximum = 2048;
constexpr double kDay = 24 * 60 * 60;

class Logs {
  public:
    explicit Logs(const Preparation& what) : what_(what) {}

    sys::Result<void> execution(const std::string& text) const {
        return job::append_execution_log(
            what_.output + "/" + job::execution_log_name(what_.log_node), text);
    }

    void event(job::Event::Kind kind, const std::string& code, const std::string& message) const {
        if (what_.record.empty()) return;
        (void)job::append_event(what_.record, {kind, sys::wall_clock(), what_.node, code, message});
    }

    // Logs the failure and returns its line.
    sys::Error failure(const std::string& code, const std::string& message) const {
        sys::Error line{sys::printable("batchai: " + what_.node + ": " + message)};
        failed(code, line.message);
        return line;
    }

    void failed(const std::string& code, const std::string& line) const {
        (void)execution(line);
        if (!what_.record.empty()) job::leave_outputs(what_.output, line);
        event(job::Event::Kind::failed, code, line);
    }

  private:
    const Preparation& what_;
};

// Replaces a log's path at the start of a text by the path that the user can open.
std::string outside(const Preparation& what, const std::string& text) {
    const std::string rest = text.substr(what.output.size() + 1);
    return what.outside.empty() ? rest : what.outside + "/" + rest;
}

std::string describe(const CommandEnd& end, int seconds) {
    switch (end.reason) {
        case CommandEnd::Reason::exited:
            return "job preparation failed with exit code " + std::to_string(end.code);
        case CommandEnd::Reason::signalled:
            return "job preparation was ended by signal " + std::to_string(end.code);
        case CommandEnd::Reason::interrupted:
            return kCancelled;
        case CommandEnd::Reason::timed_out:
            break;
    }
    return "job preparation was stopped after " + sys::plural(seconds, "second") +
           ", the site's limit";
}

// Logs the submission's limits that this node does not allow, one line each. As for a task, they
// are not a failure.
void note_limits(const Logs& logs) {
    Limit limits[kLimitCount];
    const int count = submitted_limits(environ, limits);
    for (int i = 0; i < count; ++i) {
        const auto& [name, resource, soft] = limits[i];
        rlimit now = {};
        if (getrlimit(resource, &now) != 0 || soft <= now.rlim_max) continue;
        (void)logs.execution(
            fmt::format("resource limit {} of the submission is {}, above this node's hard limit "
                        "of {}: not set",
                        name, soft, now.rlim_max));
    }
}

std::string skipped_line(const Preparation& what, double time, const std::string& file) {
    const auto seconds = static_cast<std::time_t>(time);
    return sys::printable(fmt::format(
        "job preparation on {}: skipped: the same one succeeded at {:%Y/%m/%d %H:%M:%S}; remove {} "
        "to run it again",
        what.node, fmt::gmtime(seconds), file));
}

// The outputs of the command.
struct Outputs {
    sys::UniqueFd out;
    sys::UniqueFd err;
    std::string out_path;
    std::string err_path;
};

// The last whole lines of a file, at most kShownMaximum bytes.
std::string end_of(const std::string& path) {
    const auto file = job::open_log(path, O_RDONLY);
    return file ? sys::tail_of(file->get(), kShownMaximum) : std::string();
}

// The last lines of the command's output, its errors first, each after ">>>", as in the service's
// log.
std::string last_lines(const Outputs& outputs) {
    std::string text = end_of(outputs.err_path);
    if (text.empty()) text = end_of(outputs.out_path);
    while (text.ends_with('\n')) text.pop_back();
    std::string lines;
    std::istringstream input(text);
    for (std::string line; std::getline(input, line);) lines += "\n>>>   " + line;
    return lines;
}

sys::Result<void> run(const Preparation& what, const Logs& logs, const Outputs& outputs) {
    note_limits(logs);
    const auto end = run_command(what.command, outputs.out.get(), outputs.err.get(), what.seconds);
    if (!end) return logs.failure(kFailed, "job preparation: " + end.error().message);
    if (end->reason != CommandEnd::Reason::exited || end->code != 0) {
        if (end->reason != CommandEnd::Reason::interrupted)
            (void)logs.execution("job environment preparation failed on " + what.node +
                                 ". Output:" + last_lines(outputs));
        return logs.failure(
            kFailed, describe(*end, what.seconds) + "; see " + outside(what, outputs.err_path));
    }
    (void)logs.execution("job environment preparation succeeded on " + what.node);
    logs.event(job::Event::Kind::prepared, "", "");
    return {};
}

// The files that the command left for this job only: in its temporary directory, or in its working
// directory there. If there are any, another job must run the command again.
std::set<std::string> left_for_job() {
    std::set<std::string> names;
    const char* temporary = std::getenv("AZ_BATCHAI_JOB_TEMP");
    if (temporary == nullptr) return names;
    for (const std::string directory : {"", "/wd"}) {
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(temporary + directory, error))
            names.insert(entry.path());
    }
    return names;
}

// Runs the command, unless an equal one succeeded within the policy's days.
sys::Result<void> run_or_skip(const Preparation& what, const Logs& logs, const Outputs& outputs) {
    if (what.cache_days == 0) return run(what, logs, outputs);
    const auto inputs = [&what] {
        return inputs_of(what.command, what.node, what.mounts, current_environment());
    };
    const Memory memory(what.node);
    const Inputs before = inputs();
    const auto time = memory.succeeded_since(sys::wall_clock() - what.cache_days * kDay, before);
    if (time && (what.expect.empty() || sys::is_regular_file(what.expect))) {
        const std::string line = skipped_line(what, *time, memory.file());
        (void)sys::write_all(outputs.out.get(), line + "\n");
        (void)logs.execution(line);
        logs.event(job::Event::Kind::prepared, "", line);
        return {};
    }
    memory.note_start(before);
    const auto found = left_for_job();
    auto done = run(what, logs, outputs);
    if (done && left_for_job() == found)
        memory.note_success(before, inputs(), sys::wall_clock());
    else
        memory.forget();
    return done;
}

sys::Result<void> prepare_with_logs(const Preparation& what, const Logs& logs) {
    const std::string out_path = what.output + "/" + job::preparation_stdout_name(what.log_node);
    const std::string err_path = what.output + "/" + job::preparation_stderr_name(what.log_node);
    auto out = job::open_log(out_path, O_WRONLY | O_CREAT | O_APPEND);
    auto err = job::open_log(err_path, O_WRONLY | O_CREAT | O_APPEND);
    const auto unwritable = [&](const sys::Error& why) {
        return logs.failure(
            kFailed, "job preparation: its logs cannot be written: " + outside(what, why.message));
    };
    if (!out || !err) return unwritable((out ? err : out).error());
    logs.event(job::Event::Kind::preparing, "", "");
    if (!what.note.empty()) (void)sys::write_all(out->get(), sys::printable(what.note) + "\n");
    if (auto logged = logs.execution("Executing 'job environment preparation' on " + what.node);
        !logged)
        return unwritable(logged.error());
    return run_or_skip(what, logs, {*std::move(out), *std::move(err), out_path, err_path});
}

// Without the plugin's mounts, a volume is a directory that may be missing on one of the nodes.
sys::Result<void> check_volumes(const Preparation& what, const Logs& logs) {
    std::istringstream lines(what.volumes);
    for (std::string directory; std::getline(lines, directory);) {
        std::error_code error;
        if (std::filesystem::is_directory(directory, error)) continue;
        return logs.failure("JobNodeSetupFailed",
                            directory + ": the job's volume is not " +
                                (error ? "there: " + error.message() : "a directory") +
                                ": without the plugin, all nodes must have it");
    }
    return {};
}

}  // namespace

sys::Result<void> prepare(const Preparation& what) {
    const Logs logs(what);
    if (!what.note.empty()) (void)logs.execution(what.note);
    if (auto there = check_volumes(what, logs); !there) return there;
    if (!what.command.empty())
        if (auto done = prepare_with_logs(what, logs); !done) return done;
    if (what.expect.empty() || sys::is_regular_file(what.expect)) return {};
    const bool there = access(what.expect.c_str(), F_OK) == 0;
    return logs.failure("JobScriptNotFound",
                        what.expect + ": the job's script is not " +
                            (there ? "a file" : std::string("there: ") + strerror(errno)));
}

void log_failure(const Preparation& what, const std::string& line) {
    Logs(what).failed(kFailed, line);
}

}  // namespace batchai::spank
