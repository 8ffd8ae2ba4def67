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

// A name that is required, and that may also be an ARM id
// (/subscriptions/S/resourceGroups/G/…/NAME): then scope is the id's, unless -g, -w or -e say
// another.
void add_arm_name(CLI::App&, const std::string& names, std::string& name, Scope&,
                  const CLI::Validator& check, const std::string& description);
// The same for one word: the id's last part stays.
void take_arm_id(std::string& text, Scope&);

// Where a name lives: -g; -g -w; -g -w -e.
void add_group_option(CLI::App&, Scope&);
void add_workspace_options(CLI::App&, Scope&);   // and the group
void add_experiment_options(CLI::App&, Scope&);  // and workspace and group

// A finite number, both ends included.
CLI::Validator number_from(double least, double most);

// A path that stays below a share; one that names a directory below it.
extern const CLI::Validator kSharePath;
extern const CLI::Validator kDirectory;

// For ->transform(): of an ARM id the last part.
extern const CLI::Validator kLastOfId;

// Letters, digits, '_' and, but for the first, '-': 1 to 64; a group's name may also hold '.'.
extern const CLI::Validator kName;
extern const CLI::Validator kGroupName;

// --share NAME=DIRECTORY and --image NAME=host, any number (policy/policy_entries.hpp).
void add_assignment_options(CLI::App&, std::vector<std::string>& shares,
                            std::vector<std::string>& images);

// -y/--yes, and az's --no-wait.
void add_yes_flag(CLI::App&, bool& yes);

}  // namespace batchai::cli
