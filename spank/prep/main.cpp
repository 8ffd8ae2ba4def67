// SPDX-License-Identifier: Apache-2.0
//
// batchai-prep: prepares one node for a job, as the job's user. Run by the plugin, and by
// `batchai job run --local`.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "spank/helper/files.hpp"
#include "spank/helper/usage.hpp"
#include "spank/prep/preparation.hpp"
#include "sys/result.hpp"
#include "sys/text.hpp"

namespace {

using batchai::spank::Preparation;

constexpr std::size_t kInputMaximum = 1024 * 1024;

int fail(const std::string& line) {
    std::fprintf(stderr, "%s\n", batchai::sys::printable(line).c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Runs the command on standard input, as a job's preparation of this node. A line for the "
        "logs may stand before the command, ended by a null byte.",
        "batchai-prep");
    app.footer("Exit status: 0; 1 after one line on standard error; 2 wrong usage.");
    app.set_version_flag("--version", BATCHAI_VERSION);
    Preparation what;
    std::string failure;
    app.add_option("--output", what.output, "directory of the logs")->required();
    app.add_option("--outside", what.outside,
                   "the same directory as messages name it (default: they name its files only)");
    app.add_option("--node", what.log_node, "name of the node in the names of the logs");
    app.add_option("--name", what.node, "name of the node in messages (default: that of --node)");
    app.add_option("--timeout", what.seconds, "seconds after which the command is killed")
        ->check(CLI::Range(1, 30 * 24 * 3600));
    std::string directory;
    app.add_option("--directory", directory, "where the command runs (default: here)");
    app.add_option("--record", what.record, "directory of the job's record");
    app.add_option("--cache", what.cache_days,
                   "days for which a preparation that has succeeded is not run again")
        ->check(CLI::Range(0, 365));
    app.add_option("--mounts", what.mounts, "the job's mounts, for telling what is the same");
    app.add_option("--expect", what.expect, "file that must exist afterwards");
    app.add_option("--failed", failure,
                   "runs nothing: logs this line, of a preparation that was killed");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return batchai::spank::explain_usage(app, error);
    }
    if (what.node.empty()) what.node = what.log_node.empty() ? "localhost" : what.log_node;
    if (!failure.empty()) {
        batchai::spank::log_failure(what, failure);
        return 0;
    }
    if (!directory.empty() && chdir(directory.c_str()) != 0)
        return fail("batchai: " + what.node +
                    ": job preparation: " + batchai::sys::errno_error(directory).message);
    const auto input = batchai::spank::read_all(STDIN_FILENO, kInputMaximum);
    if (!input)
        return fail("batchai: " + what.node + ": job preparation: the command " +
                    input.error().message);
    const std::size_t end = input->find('\0');
    if (end != input->npos) what.note = input->substr(0, end);
    what.command = input->substr(end + 1);  // all of it without a note
    const auto done = prepare(what);
    return done ? 0 : fail(done.error().message);
}
