// SPDX-License-Identifier: Apache-2.0
//
// job stacks: asks the job's batchai-launch for a report of what each rank does, and prints it.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <set>
#include <thread>

#include "cli/command_options.hpp"
#include "cli/job/job_files.hpp"
#include "cli/job/job_name.hpp"
#include "cli/verbs.hpp"
#include "job/record.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

// The launcher's own limits for the answers of its nodes add up to 20 seconds. It writes this line
// last (launcher/root/inspection.cpp).
constexpr std::chrono::milliseconds kReport{30'000}, kReportPause{200};
constexpr std::string_view kNoReport = "batchai-launch: no report: ";
constexpr std::string_view kLastLine = "batchai-launch: end of the report";

// The launcher's output, in the record directory. Only `job create` puts it there, and makes a
// batch script that is the launcher itself: SIGQUIT would end the shell of another script.
sys::Result<std::string> launcher_output(const NamedJob& job) {
    const std::string name = "job " + shown_name(job.row) + ": ";
    if (job.row.local)
        return sys::Error{name + "is local: press Ctrl-\\ where it runs, for the report there"};
    const std::string path = fmt::format("{}/slurm-{}.out", job.store.record(job.row.identity.uuid),
                                         job.row.number.own());
    if (::access(path.c_str(), R_OK) == 0) return path;
    return sys::Error{
        name +
        "was not submitted by batchai job create, or has an --output of its own: send "
        "SIGQUIT to its batchai-launch, and look into the job's output"};
}

// Whether the launcher runs the job's ranks: before that, SIGQUIT may end the batch script's
// process, as in the preparation. A requeued job has events of earlier runs, maybe on other nodes.
bool has_ranks(const NamedJob& job, const Execution& execution) {
    constexpr double kSkew = 5;  // seconds between clocks
    std::set<std::string> started;
    for (const job::Event& event : job::read_events(job.store.record(job.row.identity.uuid))) {
        if (event.time < execution.start_time.value_or(0) - kSkew) continue;
        if (event.kind == job::Event::Kind::started) started.insert(event.node);
        if (event.kind == job::Event::Kind::mounted || event.kind == job::Event::Kind::preparing)
            started.erase(event.node);
    }
    return !started.empty();
}

int stacks(const JobName& name) {
    auto job = open_job(name);
    if (!job) return fail(kBadInput, job.error());
    const auto execution = execution_of(job->store, job->row);
    if (!execution) return fail(kEnvironment, execution.error());
    const auto refuse = [&](const std::string& why) {
        return fail(kFailed, "job " + shown_name(job->row) + ": " + why);
    };
    if (execution->state != Execution::State::running)
        return refuse(std::string("is ") + state_name(execution->state) +
                      ": only a running job has stacks");
    const auto path = launcher_output(*job);
    if (!path) return fail(kBadInput, path.error());
    if (!has_ranks(*job, *execution)) return refuse("its ranks have not started");

    std::string text;
    FileFollower output(*path, [&text](std::string_view more) -> sys::Result<void> {
        text += more;
        return {};
    });
    if (const auto read = output.read_on(); !read) return fail(kFailed, read.error());
    text.clear();
    if (const auto sent = slurm::signal_script(job->row.number, "QUIT"); !sent)
        return fail(kEnvironment, sent.error());
    const auto limit = std::chrono::steady_clock::now() + kReport;
    while (std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(kReportPause);
        if (const auto read = output.read_on(); !read) return fail(kFailed, read.error());
        for (std::size_t end; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
            const std::string line = text.substr(0, end);
            if (line.starts_with(kNoReport)) return refuse(line.substr(kNoReport.size()));
            if (line == kLastLine) return kOk;
            std::cout << sys::printable(line) << std::endl;
        }
    }
    return refuse("its batchai-launch has not reported: the job ends, or its output is elsewhere");
}

}  // namespace

void add_job_stacks(CLI::App& parent, Session& session) {
    CLI::App* verb = add_verb(parent, session, "stacks", "print at which line each rank is",
                              "batchai job stacks -n train");
    const auto name = std::make_shared<JobName>();
    add_job_name(*verb, *name);
    set_action(*verb, session, name, stacks);
}

}  // namespace batchai::cli
