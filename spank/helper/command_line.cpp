// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>

#include "spank/helper/exit_code.hpp"
#include "sys/text.hpp"

namespace batchai::spank {

CommandLine::CommandLine(const std::string& program, const std::string& description,
                         const std::string& failure)
    : app_(std::make_unique<CLI::App>(description, program)), current_(app_.get()) {
    app_->footer(
        fmt::format("Exit status: 0; 1 after {} on standard error; 2 wrong usage.", failure));
    app_->set_version_flag("--version", BATCHAI_VERSION);
}

CommandLine::~CommandLine() = default;

void CommandLine::add_verb(const std::string& name, const std::string& description) {
    app_->require_subcommand(1);
    current_ = app_->add_subcommand(name, description);
}

void CommandLine::add_option(const std::string& name, std::string& value, const std::string& help) {
    current_->add_option(name, value, help);
}

void CommandLine::add_option(const std::string& name, int& value, const std::string& help) {
    current_->add_option(name, value, help);
}

void CommandLine::require(const std::string& option) {
    current_->get_option(option)->required();
}

void CommandLine::check(const std::string& option, const Check& why_wrong) {
    current_->get_option(option)->check(why_wrong);
}

void CommandLine::limit(const std::string& option, int least, int most) {
    current_->get_option(option)->check(CLI::Range(least, most));
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
    try {
        app_->parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream err;
        const int code = app_->exit(error, out, err);
        // The words on the command line may come from any user.
        std::fputs(sys::printable_lines(out.str()).c_str(), stdout);
        std::fputs(sys::printable_lines(err.str()).c_str(), stderr);
        return code == 0 ? kSucceeded : kWrongUsage;
    }
}

std::string CommandLine::verb() const {
    const auto verbs = app_->get_subcommands();
    return verbs.empty() ? "" : verbs.front()->get_name();
}

}  // namespace batchai::spank
