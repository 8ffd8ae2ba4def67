// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <vector>

#include "sys/text.hpp"

namespace batchai::cli {
namespace {

constexpr std::size_t kMostEdits = 2;

// "; did you mean X?", or nothing if no word is close. A prefix that only one word has counts as
// close.
std::string suggestion(const std::string& word, const std::set<std::string>& words) {
    const std::size_t edits = word.empty() ? 0 : std::min(kMostEdits, word.size() - 1);
    std::string best = sys::closest(word, words, edits);
    const auto begins = [&word](const std::string& w) { return w.starts_with(word); };
    if (best.empty() && std::count_if(words.begin(), words.end(), begins) == 1)
        best = *std::find_if(words.begin(), words.end(), begins);
    return best.empty() ? "" : fmt::format("; did you mean '{}'?", best);
}

// The command up to its last verb that was understood, such as "batchai job".
const CLI::App& deepest(const CLI::App& command) {
    const auto chosen = command.get_subcommands();
    return chosen.empty() ? command : deepest(*chosen.front());
}

std::string path_of(const CLI::App& command) {
    const CLI::App* parent = command.get_parent();
    return (parent == nullptr ? "" : path_of(*parent) + " ") + command.get_name();
}

std::set<std::string> verbs_of(const CLI::App& command) {
    std::set<std::string> names;
    for (const auto* verb : command.get_subcommands({})) names.insert(verb->get_name());
    return names;
}

std::set<std::string> options_of(const CLI::App& command) {
    std::set<std::string> names;
    for (const auto* option : command.get_options())
        for (const auto& name : option->get_lnames()) names.insert("--" + name);
    return names;
}

std::string unknown_option(const CLI::App& where, const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    std::set<std::string> meant;
    for (const std::string& known : options_of(where))
        if (name.size() > 2 && known.starts_with(name)) meant.insert("'" + known + "'");
    if (meant.size() > 1)
        return fmt::format("{}: ambiguous in '{}': expected one of {}", name, path_of(where),
                           fmt::join(meant, ", "));
    return fmt::format("{}: unknown option of '{}'{}", name, path_of(where),
                       suggestion(name, options_of(where)));
}

}  // namespace

std::string explain(const CLI::App& command, const CLI::ParseError& error) {
    const CLI::App& where = deepest(command);
    const std::string help = fmt::format(" (see '{} --help')", path_of(where));
    // A refused value, such as a name. Words that CLI11 has not read are not the mistake.
    if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) return error.what() + help;
    auto rest = where.remaining();
    rest.erase(std::find(rest.begin(), rest.end(), "--"), rest.end());  // options of sbatch
    const auto option = std::find_if(rest.begin(), rest.end(), [](const std::string& word) {
        return word.size() > 1 && word[0] == '-';
    });
    const auto verbs = verbs_of(where);
    if (!verbs.empty() && !rest.empty() && option != rest.begin())
        return fmt::format("{}: no such command of '{}'{}", rest.front(), path_of(where),
                           suggestion(rest.front(), verbs)) +
               help;
    if (option != rest.end()) return unknown_option(where, *option) + help;
    if (!rest.empty())
        return fmt::format("{}: '{}' expects no such word", rest.front(), path_of(where)) + help;
    if (!verbs.empty())
        return fmt::format("{}: expected one of {} after it", path_of(where),
                           fmt::join(verbs, ", "));
    return error.what() + help;
}

}  // namespace batchai::cli
