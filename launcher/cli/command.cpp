// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/command.hpp"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "launcher/cli/command_errors.hpp"
#include "launcher/cli/verbs.hpp"

namespace batchai::cli {
namespace {

// In the order that CLI11 wants: the last word first. "batchai help job create" becomes "batchai
// job create --help", and "batchai" alone asks for help too.
std::vector<std::string> words_of(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty()) words = {"help"};
    if (words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    std::reverse(words.begin(), words.end());
    return words;
}

}  // namespace

int run(int argc, char** argv) {
    // Our parent may have ignored it, which exec keeps: the kernel would then reap our children.
    ::signal(SIGCHLD, SIG_DFL);
    CLI::App command("Runs Azure Batch AI jobs on a Slurm cluster.", "batchai");
    Session session;
    try {
        build_command(command, session);
        command.parse(words_of(argc, argv));
        return session.action();
    } catch (const CLI::ParseError& error) {
        // Help and version are among CLI11's exceptions.
        if (error.get_exit_code() == 0) return command.exit(error);
        return fail(kBadInput, explain(command, error));
    } catch (const std::exception& error) {
        return fail(kFailed, error.what());
    }
}

}  // namespace batchai::cli
