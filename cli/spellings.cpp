// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

namespace batchai::cli {
namespace {

struct OldCommand {
    std::string_view earlier;
    std::string_view today;
};

constexpr std::array<OldCommand, 6> kCommands{{{"job list-files", "job file list"},
                                               {"job stream-file", "job file stream"},
                                               {"job list-nodes", "job node list"},
                                               {"cluster list-files", "cluster file list"},
                                               {"cluster list-nodes", "cluster node list"},
                                               {"usage show", "list-usages"}}};

// command: as the user has spelled it.
struct OldOption {
    std::string_view command;
    std::string_view earlier;
    std::string_view today;
};

constexpr std::array<OldOption, 21> kOptions{
    {{"cluster create", "-c", "--config-file"},
     {"cluster create", "--container-name", "--bfs-name"},
     {"cluster create", "--container-mount-path", "--bfs-mount-path"},
     {"cluster file list", "-e", "--expiry"},
     {"cluster list-files", "-e", "--expiry"},
     {"cluster list-nodes", "-n", "--cluster"},
     {"cluster list-nodes", "--name", "--cluster"},
     {"cluster node list", "-n", "--cluster"},
     {"cluster node list", "--name", "--cluster"},
     {"file-server create", "-c", "--config-file"},
     {"file-server create", "--admin-user-name", "--user-name"},
     {"job create", "--container-name", "--bfs-name"},
     {"job create", "--container-mount-path", "--bfs-mount-path"},
     {"job list-files", "--job-name", "--job"},
     {"job list-nodes", "-n", "--job"},
     {"job list-nodes", "--name", "--job"},
     {"job node list", "-n", "--job"},
     {"job node list", "--name", "--job"},
     {"job stream-file", "--job-name", "--job"},
     {"job stream-file", "-n", "--file-name"},
     {"job stream-file", "--name", "--file-name"}}};

bool is_option(const std::string& word) {
    return word.size() > 1 && word[0] == '-';
}

// The verb that the words begin with, and how many words name it.
struct Verb {
    const CLI::App* app = nullptr;
    std::size_t words = 0;
    std::string path;
};
Verb verb_of(const CLI::App& command, const std::vector<std::string>& words) {
    Verb verb{&command, 0, ""};
    for (const std::string& word : words) {
        const auto below = verb.app->get_subcommands(
            [&word](const CLI::App* app) { return app->get_name() == word; });
        if (below.empty()) break;
        verb.app = below.front();
        verb.path += (verb.words++ == 0 ? "" : " ") + word;
    }
    return verb;
}

// Replaces the name of a command of an earlier release. Returns the command as it was spelled.
std::string take_command(const CLI::App& command, std::vector<std::string>& words) {
    for (const auto& [earlier, today] : kCommands) {
        const auto old = CLI::detail::split(std::string(earlier), ' ');
        if (words.size() < old.size() || !std::equal(old.begin(), old.end(), words.begin()))
            continue;
        words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(old.size()));
        const auto now = CLI::detail::split(std::string(today), ' ');
        words.insert(words.begin(), now.begin(), now.end());
        return std::string(earlier);
    }
    return verb_of(command, words).path;
}

// The option's name of today, or the name itself.
std::string todays_name(const CLI::App& verb, const std::string& command, const std::string& name) {
    for (const OldOption& option : kOptions)
        if (option.command == command && option.earlier == name) return std::string(option.today);
    if (!name.starts_with("--") || name.size() < 3) return name;
    std::set<const CLI::Option*> with_prefix;
    std::string full;
    for (const CLI::Option* option : verb.get_options())
        for (const std::string& known : option->get_lnames()) {
            if (known == name.substr(2)) return name;
            if (!known.starts_with(name.substr(2))) continue;
            with_prefix.insert(option);
            full = "--" + known;
        }
    return with_prefix.size() == 1 ? full : name;
}

// An option and the value in the same word, if it has one: "--name=x", "-n=x", "-nx".
struct OptionWord {
    std::string name;
    std::string value;
    bool has_value = false;
};
OptionWord option_of(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const std::size_t end = is_long ? std::min(word.find('='), word.size()) : 2;
    OptionWord option{word.substr(0, end), word.substr(end), word.size() > end};
    if (option.value.starts_with('=')) option.value.erase(0, 1);
    return option;
}

bool takes_value(const CLI::App& verb, const std::string& name) {
    const CLI::Option* option = verb.get_option_no_throw(name);
    return option != nullptr && option->get_items_expected_min() > 0;
}

// In release 0.2, which had no workspaces, -e of `job file list -n JOB` was --expiry.
bool has_expiry(const std::string& command, const std::vector<std::string>& words) {
    const auto has = [&words](std::initializer_list<std::string_view> names) {
        return std::any_of(words.begin(), words.end(), [&names](const std::string& word) {
            return std::find(names.begin(), names.end(), word) != names.end();
        });
    };
    return command == "job file list" && has({"-n", "--name"}) &&
           !has({"-w", "--workspace", "-j", "--job"});
}

bool is_number(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::vector<std::string> todays_words(const CLI::App& command, std::vector<std::string> words) {
    const std::string spelled = take_command(command, words);
    const Verb verb = verb_of(command, words);
    const bool expiry = has_expiry(spelled, words);
    for (std::size_t i = verb.words; i < words.size() && words[i] != "--"; ++i) {
        if (!is_option(words[i])) continue;
        const OptionWord option = option_of(words[i]);
        std::string name = todays_name(*verb.app, spelled, option.name);
        const std::string& next = option.has_value       ? option.value
                                  : i + 1 < words.size() ? words[i + 1]
                                                         : option.value;
        if (expiry && name == "-e" && is_number(next)) name = "--expiry";
        const bool needs_value = takes_value(*verb.app, name);
        if (option.has_value && needs_value) {
            words[i] = name;
            words.insert(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, option.value);
        } else if (!option.has_value) {
            words[i] = name;
        }
        if (needs_value) ++i;
    }
    return words;
}

std::vector<Spelling> earlier_spellings() {
    std::vector<Spelling> all;
    for (const auto& [earlier, today] : kCommands)
        all.push_back({std::string(earlier), std::string(today)});
    for (const auto& [verb, earlier, today] : kOptions)
        all.push_back({std::string(verb) + " " + std::string(earlier), std::string(today)});
    return all;
}

}  // namespace batchai::cli
