// SPDX-License-Identifier: Apache-2.0
//
// What every verb shares: the global options, the way to say something and to fail, and the action
// that the command line chose.
//
// A verb's add_<verb>() (verbs.hpp) declares its options and stores an action here; main runs the
// action after the whole line was understood. An action returns the exit code.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "launcher/cli/output/table.hpp"
#include "sys/result.hpp"

namespace batchai::cli {

// docs/architecture.md, Exit codes.
enum ExitCode { kOk = 0, kFailed = 1, kBadInput = 2, kEnvironment = 3 };

// How a verb's result becomes a table; without one the table shows the result's own scalars.
using TableMaker = std::function<Table(const nlohmann::json&)>;

struct Session {
    std::string output;        // -o; empty: not asked for, JSON
    std::string query;         // --query
    bool only_errors = false;  // --only-show-errors
    std::function<int()> action;

    // Prints a result as -o and --query ask for it. Returns the exit code.
    int print(const nlohmann::json& result, const TableMaker& table = {}) const;

    // For a result too large to make all of its forms: which one is asked for, and that one alone.
    bool wants_table() const { return query.empty() && output == "table"; }
    bool wants_json() const { return query.empty() && form().starts_with("json"); }
    // Nobody asked for a form, and a person reads it: a verb may say it in words.
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
// From now on note() says nothing; fail() does.
void silence_notes();

// -g, -w, -e: where a name lives. Left out: "default".
struct Scope {
    std::string resource_group = "default";
    std::string workspace = "default";
    std::string experiment = "default";
};
// Asks on a terminal unless yes is set; without a terminal it says so and is false.
bool confirmed(bool yes, const std::string& question);

}  // namespace batchai::cli
