// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

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

namespace {

constexpr std::size_t kWidest = 100;

class HelpFormatter : public CLI::Formatter {
  public:
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override {
        return wrapped(CLI::Formatter::make_help(app, std::move(name), mode), kWidest);
    }
};

// The column of the description: after the last gap behind the option's names and value.
std::size_t description_column(const std::string& line, std::size_t widest) {
    const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t gap = line.find("  ", first);
    if (gap == line.npos || gap >= widest) return first;
    return line.find_first_not_of(' ', gap);
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
    return std::make_shared<HelpFormatter>();
}

std::string wrapped(const std::string& text, std::size_t widest) {
    std::string result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t column = description_column(line, widest);
        while (line.size() > widest) {
            std::size_t space = line.rfind(' ', widest);
            if (space == line.npos || space <= column) space = line.find(' ', widest);
            if (space == line.npos) break;  // one long word
            result += line.substr(0, space) + "\n";
            line = std::string(column, ' ') + line.substr(space + 1);
        }
        result += line + "\n";
    }
    return result;
}

namespace {

constexpr const char* kFooter =
    "Example:\n"
    "  batchai job check job.json\n"
    "  batchai job create --name train --config-file job.json\n"
    "  batchai job file stream --job train --file-name stdout.txt\n\n"
    "Left out, --resource-group, --workspace and --experiment are those of 'batchai configure', "
    "else\n"
    "\"default\"; a name that is new is recorded on first use. Options of az that mean nothing on "
    "your own cluster are accepted.\n"
    "Exit: 0; 1 failed; 2 bad input; 3 no Slurm, policy or permission. job wait, job run and node "
    "exec\n"
    "exit with the code of the job or command, job wait with 255 if the job has none.";

CLI::App* add_noun(CLI::App& parent, const std::string& name, const std::string& description) {
    return parent.add_subcommand(name, description)->require_subcommand(1);
}

}  // namespace

void build_command(CLI::App& command, Session& session) {
    command.require_subcommand(1);
    command.formatter(help_formatter());
    command.option_defaults()->take_last();  // all verbs: the last of a repeated option
    command.footer(kFooter);
    command.set_version_flag(
        "--version", "batchai " BATCHAI_VERSION " (plugin built for Slurm " SLURM_VERSION ")");

    CLI::App* jobs = add_noun(command, "job", "submit, watch and end jobs");
    add_job_create(*jobs, session);
    add_job_run(*jobs, session);
    add_job_check(*jobs, session);
    add_job_show(*jobs, session);
    add_job_list(*jobs, session);
    add_job_wait(*jobs, session);
    add_job_stacks(*jobs, session);
    add_job_terminate(*jobs, session);
    add_job_delete(*jobs, session);
    add_job_files(*add_noun(*jobs, "file", "the job's output files"), session);
    add_job_nodes(*add_noun(*jobs, "node", "the job's nodes"), session);
    add_top(command, session);

    add_clusters(*add_noun(command, "cluster", "names for Slurm partitions"), session);
    add_file_servers(*add_noun(command, "file-server", "file servers of the site"), session);
    add_usages(command, session);
    add_storage(*add_noun(command, "storage", "shares of the site and files on them"), session);
    add_groups(*add_noun(command, "group", "resource groups: names"), session);
    add_workspaces(*add_noun(command, "workspace", "workspaces: names"), session);
    add_experiments(*add_noun(command, "experiment", "experiments: names that group jobs"),
                    session);
    add_policy(*add_noun(command, "policy", "policy entries for a job file"), session);
    add_admin(*add_noun(command, "admin", "for the admins of the cluster"), session);
    add_configure(command, session);
    add_print(command, session);
    add_completion(command, session);
}

}  // namespace batchai::cli
