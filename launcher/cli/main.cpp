// SPDX-License-Identifier: Apache-2.0
//
// batchai: Azure Batch AI's command line over Slurm.
#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

#include "launcher/cli/verbs.hpp"

namespace {

// The command as far as it was understood: "batchai job".
const CLI::App& deepest(const CLI::App& command) {
    const auto chosen = command.get_subcommands();
    return chosen.empty() ? command : deepest(*chosen.front());
}

// CLI11 reports by exceptions; help and version are among them.
int parse_error(const CLI::App& command, const CLI::ParseError& error) {
    using batchai::cli::fail;
    using batchai::cli::kBadInput;
    if (error.get_exit_code() == 0) return command.exit(error);
    const CLI::App& where = deepest(command);
    const auto rest = where.remaining();
    if (!rest.empty() && !where.get_subcommands({}).empty())
        return fail(kBadInput, rest.front() + ": no such command (see --help)");
    return fail(kBadInput, std::string(error.what()) + " (see --help)");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App command("Runs Azure Batch AI jobs on a Slurm cluster.", "batchai");
    batchai::cli::Session session;
    try {
        batchai::cli::build_command(command, session);
        command.parse(argc, argv);
        return session.action();
    } catch (const CLI::ParseError& error) {
        return parse_error(command, error);
    } catch (const std::exception& error) {
        return batchai::cli::fail(batchai::cli::kFailed, error.what());
    }
}
