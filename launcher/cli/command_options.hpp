// SPDX-License-Identifier: Apache-2.0
//
// What the verbs' command lines have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "launcher/cli/session.hpp"

namespace batchai::cli {

// A new verb below parent, with the global options. example is a whole command line.
CLI::App* add_verb(CLI::App& parent, Session&, const std::string& name,
                   const std::string& description, const std::string& example);

// Options that az has and that mean nothing here: accepted and not looked at.
void ignore_options(CLI::App&, const std::vector<std::string>& names);
void ignore_flags(CLI::App&, const std::vector<std::string>& names);

// Where a name lives: -g; -g -w; -g -w -e.
void add_group_option(CLI::App&, Scope&);
void add_workspace_options(CLI::App&, Scope&);   // and the group
void add_experiment_options(CLI::App&, Scope&);  // and workspace and group

// A finite number, both ends included.
CLI::Validator number_from(double least, double most);

// A path that stays below a share; one that names a directory below it.
extern const CLI::Validator kSharePath;
extern const CLI::Validator kDirectory;

// Letters, digits, '_' and, but for the first, '-': 1 to 64; a group's name may also hold '.'.
extern const CLI::Validator kName;
extern const CLI::Validator kGroupName;

// -y/--yes, and az's --no-wait.
void add_yes_flag(CLI::App&, bool& yes);

}  // namespace batchai::cli
