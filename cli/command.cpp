// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "cli/command_errors.hpp"
#include "cli/spellings.hpp"
#include "cli/verbs.hpp"

namespace batchai::cli {
void parse(CLI::App& command, std::vector<std::string> words) {
    if (words.empty()) words = {"help"};
    if (words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    words = todays_words(command, std::move(words));
    std::reverse(words.begin(), words.end());  // CLI11 wants the last word first
    command.parse(std::move(words));
}

int run(int argc, char** argv) {
    // Our parent may have ignored it, which exec keeps: the kernel would then reap our children.
    ::signal(SIGCHLD, SIG_DFL);
    CLI::App command("Runs Azure Batch AI jobs on a Slurm cluster.", "batchai");
    Session session;
    try {
        build_command(command, session);
        parse(command, {argv + 1, argv + argc});
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
