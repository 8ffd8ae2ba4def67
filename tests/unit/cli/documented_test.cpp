// SPDX-License-Identifier: Apache-2.0
//
// docs/batch-ai.md has every verb and every option as the command has them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "cli/command.hpp"
#include "cli/verbs.hpp"

namespace batchai::cli {
namespace {

const std::string kPage = BATCHAI_SOURCE_DIR "/docs/batch-ai.md";
constexpr const char* kIgnored = "Accepted, without meaning here";

// "`-n`, `--name`"
std::string names_of(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const auto& name : option.get_snames()) names.push_back("`-" + name + "`");
    for (const auto& name : option.get_lnames()) names.push_back("`--" + name + "`");
    if (names.empty()) return "`" + option.get_name() + "`";
    return fmt::format("{}", fmt::join(names, " "));
}

struct Tables {
    std::string verbs;
    std::map<std::string, std::map<std::string, std::set<std::string>>> options;  // what, verbs
    std::map<std::string, std::set<std::string>> ignored;
};

void collect(Tables& tables, const CLI::App& command, const std::string& path) {
    for (const auto* verb : command.get_subcommands({}))
        collect(tables, *verb, path.empty() ? verb->get_name() : path + " " + verb->get_name());
    if (!command.get_subcommands({}).empty()) return;
    std::vector<std::string> names;
    std::set<std::string> ignored;
    for (const auto* option : command.get_options()) {
        if (option->get_group() == "Global" || option->check_name("--help") ||
            option->check_name("--subscription"))
            continue;
        if (option->get_group() == kIgnored) {
            ignored.insert(names_of(*option));
            continue;
        }
        names.push_back(names_of(*option));
        tables.options[names_of(*option)][option->get_description()].insert(path);
    }
    tables.verbs += fmt::format("| `{}` | {} | {} | {} |\n", path, command.get_description(),
                                fmt::join(names, ", "), fmt::join(ignored, ", "));
}

std::string wanted() {
    CLI::App command("", "batchai");
    Session session;
    build_command(command, session);
    Tables tables;
    collect(tables, command, "");
    std::string text =
        "| command | here | options | accepted, without effect |\n|---|---|---|---|\n" +
        tables.verbs + "\n| option | here |\n|---|---|\n";
    for (const auto& [names, meanings] : tables.options)
        for (const auto& [meaning, verbs] : meanings)
            text += meanings.size() == 1
                        ? fmt::format("| {} | {} |\n", names, meaning)
                        : fmt::format("| {} | {} ({}) |\n", names, meaning, fmt::join(verbs, ", "));
    return text;
}

std::string wanted_spellings() {
    std::string text = "| earlier | today |\n|---|---|\n";
    for (const auto& [earlier, today] : earlier_spellings())
        text += fmt::format("| `{}` | `{}` |\n", earlier, today);
    return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(documented)

BOOST_AUTO_TEST_CASE(earlier_spellings_are_those_of_the_command) {
    std::ostringstream text;
    text << std::ifstream(kPage).rdbuf();
    BOOST_TEST((text.str().find(wanted_spellings()) != std::string::npos),
               "docs/batch-ai.md, Earlier spellings, is old; it should be:\n" + wanted_spellings());
}

BOOST_AUTO_TEST_CASE(commands_and_options_are_those_of_the_command) {
    std::ostringstream text;
    text << std::ifstream(kPage).rdbuf();
    const std::string tables = wanted();
    BOOST_TEST(tables.find("| `job node exec` |") != std::string::npos);
    BOOST_TEST((text.str().find(tables) != std::string::npos),
               "docs/batch-ai.md, Commands and options, is old; it should be:\n" + tables);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace batchai::cli
