// SPDX-License-Identifier: Apache-2.0
//
// batchai-prep: prepares one node for a job, as the job's user. Run by the plugin, and by
// `batchai job run --local`.
#include <unistd.h>

#include <cstdio>

#include "spank/helper/command_line.hpp"
#include "spank/helper/exit_code.hpp"
#include "spank/prep/preparation.hpp"
#include "sys/file.hpp"
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
    batchai::spank::CommandLine app(
        "batchai-prep",
        "Runs the command on standard input, as a job's preparation of this node. A line for the "
        "logs may stand before the command, ended by a null byte.",
        "one line");
    Preparation what;
    what.for_each([&app](const char* name, auto& value, const char* help) {
        app.add_option(name, value, help);
    });
    app.require("--output");
    app.limit("--timeout", 1, 30 * 24 * 3600);
    app.limit("--cache", 0, 365);
    if (const auto code = app.parse(argc, argv)) return *code;
    if (what.node.empty()) what.node = what.log_node.empty() ? "localhost" : what.log_node;
    if (!what.failed.empty()) {
        batchai::spank::log_failure(what, what.failed);
        return 0;
    }
    if (!what.directory.empty() && chdir(what.directory.c_str()) != 0)
        return fail("batchai: " + what.node +
                    ": job preparation: " + batchai::sys::errno_error(what.directory).message);
    const auto input = batchai::sys::read_all(STDIN_FILENO, kInputMaximum);
    if (!input)
        return fail("batchai: " + what.node + ": job preparation: the command " +
                    input.error().message);
    const std::size_t end = input->find('\0');
    if (end != input->npos) what.note = input->substr(0, end);
    what.command = input->substr(end + 1);  // without a note, this is the whole input
    const auto done = prepare(what);
    return done ? 0 : fail(done.error().message);
}
