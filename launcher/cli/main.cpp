// SPDX-License-Identifier: Apache-2.0
//
// batchai: the command line of Azure Batch AI, over Slurm.
#include <signal.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "launcher/cli/command_errors.hpp"
#include "launcher/cli/verbs.hpp"

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

int main(int argc, char** argv) {
    using batchai::cli::fail;
    // The parent process may have ignored SIGCHLD, which exec keeps. The kernel would then reap our
    // children.
    ::signal(SIGCHLD, SIG_DFL);
    CLI::App command("Runs Azure Batch AI jobs on a Slurm cluster.", "batchai");
    batchai::cli::Session session;
    try {
        batchai::cli::build_command(command, session);
        command.parse(words_of(argc, argv));
        return session.action();
    } catch (const CLI::ParseError& error) {
        // CLI11 throws exceptions for --help and --version too.
        if (error.get_exit_code() == 0) return command.exit(error);
        return fail(batchai::cli::kBadInput, batchai::cli::explain(command, error));
    } catch (const std::exception& error) {
        return fail(batchai::cli::kFailed, error.what());
    }
}
