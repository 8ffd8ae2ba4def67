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
    return batchai::spank::kFailure;
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
    what.for_each([&app](const char* name, auto& value, const char* help) {
        app.add_option(name, value, help);
    });
    app.get_option("--output")->required();
    app.get_option("--timeout")->check(CLI::Range(1, 30 * 24 * 3600));
    app.get_option("--cache")->check(CLI::Range(0, 365));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return batchai::spank::explain_usage(app, error);
    }
    if (what.node.empty()) what.node = what.log_node.empty() ? "localhost" : what.log_node;
    if (!what.failed.empty()) {
        batchai::spank::log_failure(what, what.failed);
        return 0;
    }
    if (!what.directory.empty() && chdir(what.directory.c_str()) != 0)
        return fail("batchai: " + what.node +
                    ": job preparation: " + batchai::sys::errno_error(what.directory).message);
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
