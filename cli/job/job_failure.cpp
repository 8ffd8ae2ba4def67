// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_failure.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/job/output_directory.hpp"
#include "job/layout.hpp"
#include "job/record.hpp"
#include "sys/file.hpp"
#include "sys/shell.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

constexpr const char* kStderr = "stderr.txt";
// How much of a preparation's stderr is shown.
constexpr std::size_t kMostLines = 10;
constexpr std::size_t kMostBytes = 8192;

void tell(const std::string& text) {
    std::cerr << sys::printable_lines(text) << std::endl;
}

// The command that shows the first of these files that is there, or else the list of all files.
// Empty: this machine does not see the files.
std::string command_for_more(const NamedJob& job, const std::vector<std::string>& files) {
    const auto directory = output_directory(job, "stdouterr", ".");
    if (!directory) return {};
    const auto& identity = job.row.identity;
    const std::string which = fmt::format(
        "-g {} -w {} -e {} -j {}", sys::shell_quoted(identity.resource_group),
        sys::shell_quoted(identity.workspace), sys::shell_quoted(identity.experiment),
        sys::shell_quoted(job.row.number.is_task() ? job.row.number.text() : identity.name));
    for (const std::string& file : files)
        if (!file.empty() && sys::is_regular_file(*directory + "/" + file))
            return fmt::format("batchai job file stream {} -f {}", which, sys::shell_quoted(file));
    return fmt::format("batchai job file list {} -o table", which);
}

// The stderr file of the preparation that failed. Empty: no preparation failed, or this machine
// does not see the file.
std::string preparation_log_of(const NamedJob& job, const JobError& error) {
    if (error.code != "JobPreparationFailed") return {};
    const auto directory = output_directory(job, "stdouterr", ".");
    if (!directory) return {};
    for (const std::string& node : {std::string(), error.node}) {
        std::string file = job::preparation_stderr_name(node);
        if (sys::is_regular_file(*directory + "/" + file)) return file;
    }
    return {};
}

// In the words of batchai-launch's report about a rank.
std::string last_lines_of(const NamedJob& job, const std::string& file) {
    const auto directory = output_directory(job, "stdouterr", ".");
    if (!directory) return {};
    const auto opened = job::open_log(*directory + "/" + file, O_RDONLY);
    if (!opened) return {};
    std::vector<std::string> lines;
    std::istringstream input(sys::tail_of(opened->get(), kMostBytes));
    for (std::string line; std::getline(input, line);) lines.push_back(std::move(line));
    const std::size_t first = lines.size() - std::min(lines.size(), kMostLines);
    std::string shown = lines.empty() ? "" : "  last lines of its stderr:\n";
    for (std::size_t i = first; i < lines.size(); ++i) shown += "    " + lines[i] + "\n";
    return shown;
}

}  // namespace

void print_failure(const NamedJob& job, const Execution& execution) {
    const auto result = job::read_result(job.store.record(job.row.identity.uuid));
    std::string preparation_log;
    for (const JobError& error : execution.errors) {
        tell(fmt::format("Error message: {}\nDetails:\n {}", error.message,
                         error.node.empty() ? "<none>" : "Node: " + error.node));
        if (result && error.message == result->failure && !result->details.empty())
            std::cerr << sys::printable_lines(result->details) << std::flush;
        if (!preparation_log.empty()) continue;
        preparation_log = preparation_log_of(job, error);
        if (!preparation_log.empty())
            std::cerr << sys::printable_lines(last_lines_of(job, preparation_log)) << std::flush;
    }
    const std::string rank_log = result ? result->error_file : "";
    if (const std::string command = command_for_more(job, {preparation_log, rank_log, kStderr});
        !command.empty())
        tell("To see all of it: " + command);
}

}  // namespace batchai::cli
