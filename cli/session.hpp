// SPDX-License-Identifier: Apache-2.0
//
// What all verbs share: the global options, messages and errors, and the chosen action.
// The add_<verb>() of a verb (verbs.hpp) declares its options and stores an action here. main runs
// the action when the whole command line has been parsed. An action returns the exit code.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/output/table.hpp"
#include "sys/result.hpp"

namespace batchai::cli {

// The exit codes of batchai, besides those of jobs and commands. docs/man/batchai.1 and --help
// explain each (tests/lint/exit_codes.py).
enum ExitCode {
    kOk = 0,
    kFailed = 1,
    kBadInput = 2,
    kEnvironment = 3,
    kNoExitCode = 255,  // of a job that ended without one, as in az
};

// Makes a table of a verb's result. Without one, the table shows the result's scalars.
using TableMaker = std::function<Table(const nlohmann::json&)>;

struct Session {
    std::string output;  // -o; empty: not given, which means JSON
    std::string query;   // --query
    std::function<int()> action;

    // Prints a result as -o and --query ask for it. Returns the exit code.
    int print(const nlohmann::json& result, const TableMaker& table = {}) const;

    // For a result that is expensive in some forms: whether only this form is asked for.
    bool wants_table() const { return query.empty() && output == "table"; }
    bool wants_json() const { return query.empty() && form().starts_with("json"); }
    // Whether a person reads the output and no option asks for a form. Then a verb may print
    // sentences.
    bool wants_words() const;
    std::string form() const { return output.empty() ? "json" : output; }
    int print_table(const Table&) const;
    int print_documents(const std::vector<std::string>& documents) const;  // printed_json of each
};

// A document as -o json prints it.
std::string printed_json(const nlohmann::json& document);

// "batchai: message" on stderr, in one line; returns code.
int fail(ExitCode code, const std::string& message);
inline int fail(ExitCode code, const sys::Error& error) {
    return fail(code, error.message);
}
// "batchai: message" on stderr, in one line.
void note(const std::string& message);
// After this call note() prints nothing. fail() still prints.
void silence_notes();
bool shows_notes();

// -g, -w, -e: the scope of a name, "default" if left out.
struct Scope {
    std::string resource_group = "default";
    std::string workspace = "default";
    std::string experiment = "default";
};
// Asks on a terminal, unless yes is set. Without a terminal it prints a message and returns false.
bool confirmed(bool yes, const std::string& question);

}  // namespace batchai::cli
