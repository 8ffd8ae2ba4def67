// SPDX-License-Identifier: Apache-2.0
//
// Options that several verbs have.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/session.hpp"

namespace batchai::cli {

// Adds a verb with the global options to parent. example: a whole command line.
CLI::App* add_verb(CLI::App& parent, Session&, const std::string& name,
                   const std::string& description, const std::string& example);

// Has the verb run action(session, *args), or action(*args), when the whole command line is read.
template <class Args, class Action>
void set_action(CLI::App& verb, Session& session, const std::shared_ptr<Args>& args,
                Action action) {
    verb.callback([args, action, &session] {
        const Session* given = &session;  // clang warns of a capture by name that is not used
        session.action = [=] {
            if constexpr (std::is_invocable_v<Action, const Session&, Args&>)
                return action(*given, *args);
            else
                return action(*args);
        };
    });
}

// For a function whose name other functions have too: the one that takes these arguments.
template <class Args>
void set_action(CLI::App& verb, Session& session, const std::shared_ptr<Args>& args,
                int (*action)(const Session&, const Args&)) {
    set_action<Args, int (*)(const Session&, const Args&)>(verb, session, args, action);
}
template <class Args>
void set_action(CLI::App& verb, Session& session, const std::shared_ptr<Args>& args,
                int (*action)(const Args&)) {
    set_action<Args, int (*)(const Args&)>(verb, session, args, action);
}

// Accepts options of az that have no effect here.
void ignore_options(CLI::App&, const std::vector<std::string>& names);
void ignore_flags(CLI::App&, const std::vector<std::string>& names);

// A required name, which may also be an ARM id (/subscriptions/S/resourceGroups/G/…/NAME). The id
// sets the scope, unless -g, -w or -e do.
void add_arm_name(CLI::App&, const std::string& names, std::string& name, Scope&,
                  const CLI::Validator& check, const std::string& description);
// Replaces an ARM id by its last part, and sets the scope from it.
void take_arm_id(std::string& text, Scope&);

// -g; -g -w; -g -w -e: the scope of a name.
void add_group_option(CLI::App&, Scope&);
void add_workspace_options(CLI::App&, Scope&);
void add_experiment_options(CLI::App&, Scope&);

// A finite number from least to most, both included.
CLI::Validator number_from(double least, double most);

// A path that stays below a share. kDirectory: the path of a directory there, not the share itself.
extern const CLI::Validator kSharePath;
extern const CLI::Validator kDirectory;

// For ->transform(): replaces an ARM id by its last part. id_in sets the scope from it, too.
extern const CLI::Validator kLastOfId;
CLI::Validator id_in(Scope&);

// Whether kName accepts it.
bool is_name(const std::string&);

// 1 to 64 letters, digits, '_' and '-', the first not '-'. A group's name may also contain '.'.
extern const CLI::Validator kName;
extern const CLI::Validator kGroupName;

// configure.cpp: the group, workspace and experiment that the user has configured; a name that is
// not configured is empty. The file is read once. A file that cannot be read counts as empty.
const Scope& configured_scope();

// --share NAME=DIRECTORY and --image NAME=host, which may be repeated (policy/policy_entries.hpp).
void add_assignment_options(CLI::App&, std::vector<std::string>& shares,
                            std::vector<std::string>& images);

}  // namespace batchai::cli
