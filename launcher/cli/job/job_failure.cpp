// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/job/job_failure.hpp"

#include <fmt/format.h>

#include <iostream>

#include "job/record.hpp"
#include "launcher/cli/job/output_directory.hpp"
#include "launcher/cli/slurm/external.hpp"
#include "sys/file.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

constexpr const char* kStderr = "stderr.txt";

void tell(const std::string& text) {
    std::cerr << sys::printable_lines(text) << std::endl;
}

// The job's stderr where it is one file, else the list of all there are. Empty: this machine does
// not see them.
std::string command_for_more(const NamedJob& job) {
    const auto directory = output_directory(job, "stdouterr", ".");
    if (!directory) return {};
    const auto& identity = job.row.identity;
    const std::string which =
        fmt::format("-g {} -w {} -e {} -j {}", shell_quoted(identity.resource_group),
                    shell_quoted(identity.workspace), shell_quoted(identity.experiment),
                    shell_quoted(identity.name));
    if (sys::is_regular_file(*directory + "/" + kStderr))
        return fmt::format("batchai job file stream {} -f {}", which, kStderr);
    return fmt::format("batchai job file list {} -o table", which);
}

}  // namespace

void print_failure(const NamedJob& job, const Execution& execution) {
    const auto result = job::read_result(job.store.record(job.row.identity.uuid));
    for (const JobError& error : execution.errors) {
        tell(fmt::format("Error message: {}\nDetails:\n {}", error.message,
                         error.node.empty() ? "<none>" : "Node: " + error.node));
        if (result && error.message == result->failure && !result->details.empty())
            std::cerr << sys::printable_lines(result->details) << std::flush;
    }
    if (const std::string command = command_for_more(job); !command.empty())
        tell("To see all of it: " + command);
}

}  // namespace batchai::cli
