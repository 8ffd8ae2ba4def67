// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/plan_view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "sys/shell.hpp"
#include "sys/text.hpp"

namespace batchai::launcher {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr const char* kHidden = "***";
// Shorter lines of a secret, such as a lone brace, are not hidden: they reveal nothing.
constexpr std::size_t kShortestLine = 8;

void hide_values(std::string& text, const Secrets& secrets) {
    for (const auto& [name, value] : secrets) {
        for (std::size_t at = 0; (at = text.find(value, at)) != text.npos;) {
            text.replace(at, value.size(), kHidden);
            at += std::string_view(kHidden).size();
        }
    }
}

// Sorted for hide_values: a value that begins with another one must come before it.
Secrets in_order(Secrets secrets) {
    std::erase_if(secrets, [](const auto& secret) { return secret.second.empty(); });
    std::sort(secrets.begin(), secrets.end(),
              [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
    return secrets;
}

Variables common_variables(const std::vector<RankPlan>& ranks) {
    Variables common = ranks.front().environment;
    std::erase_if(common, [&](const auto& variable) {
        return std::any_of(ranks.begin(), ranks.end(), [&](const RankPlan& rank) {
            const auto found = rank.environment.find(variable.first);
            return found == rank.environment.end() || found->second != variable.second;
        });
    });
    return common;
}

// The variables that are not in `without`, one per line.
std::string lines_of(const Variables& variables, const Variables& without) {
    std::string text;
    for (const auto& [name, value] : variables) {
        if (!without.contains(name)) {
            text += fmt::format("    {}={}\n", name, sys::shell_quoted(value));
        }
    }
    return text;
}

// "every rank: COMMAND", or one line per program.
std::string commands(const std::vector<Program>& programs) {
    std::string text;
    int first = 0;
    for (const Program& program : programs) {
        std::vector<std::string> words;
        for (const std::string& word : program.argv) words.push_back(sys::shell_quoted(word));
        std::vector<int> ranks(program.ranks);
        std::iota(ranks.begin(), ranks.end(), first);
        first += program.ranks;
        const std::string whose = programs.size() == 1 ? "every rank"
                                                       : (ranks.size() == 1 ? "rank " : "ranks ") +
                                                             sys::number_list(ranks);
        text += fmt::format("{}: {}\n", whose, fmt::join(words, " "));
        if (!program.directory.empty()) text += fmt::format("    in {}\n", program.directory);
    }
    return text;
}

std::string device_text(const RankPlan& rank) {
    if (rank.gpus.empty()) return "no GPU";
    return (rank.gpus.size() > 1 ? "GPUs " : "GPU ") + sys::number_list(rank.gpus);
}

}  // namespace

void hide(std::string& text, const Secrets& secrets) {
    Secrets values = secrets;
    for (const auto& [name, value] : secrets) {
        std::istringstream lines(value);
        for (std::string line; std::getline(lines, line);)
            if (line.size() >= kShortestLine) values.emplace_back(name, line);
    }
    hide_values(text, in_order(values));
}

void hide(Plan& plan, Secrets secrets) {
    secrets = in_order(std::move(secrets));
    for (Program& program : plan.programs)
        for (std::string& word : program.argv) hide_values(word, secrets);
    hide_values(plan.directory, secrets);
    for (RankPlan& rank : plan.ranks) {
        for (auto& [name, value] : rank.environment) hide_values(value, secrets);
        for (const auto& [name, value] : secrets) {
            const auto found = rank.environment.find(name);
            if (found != rank.environment.end()) found->second = kHidden;
        }
    }
}

std::string as_text(const Plan& plan) {
    const Variables common = common_variables(plan.ranks);
    std::string text = commands(plan.programs);
    const bool own = std::all_of(plan.programs.begin(), plan.programs.end(),
                                 [](const Program& program) { return !program.directory.empty(); });
    if (!own) text += fmt::format("    in {}\n", plan.directory);
    text += lines_of(common, {});
    for (const RankPlan& rank : plan.ranks) {
        text +=
            fmt::format("rank {} on {}: {}, {}\n", rank.rank,
                        plan.map.nodes[plan.map.node_of(rank.rank)], device_text(rank),
                        rank.cpus.empty() ? "not bound" : "cores " + sys::number_list(rank.cpus));
        text += lines_of(rank.environment, common);
    }
    return text;
}

std::string as_json(const Plan& plan) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (const RankPlan& rank : plan.ranks) {
        ranks.push_back({{"rank", rank.rank},
                         {"node", plan.map.nodes[plan.map.node_of(rank.rank)]},
                         {"local_rank", plan.map.local_rank(rank.rank)},
                         {"gpus", rank.gpus},
                         {"cores", rank.cpus},
                         {"environment", rank.environment}});
        const Program& program = *program_of(plan.programs, rank.rank).program;
        if (plan.programs.size() > 1) ranks.back()["command"] = program.argv;
        if (!program.directory.empty()) ranks.back()["directory"] = program.directory;
    }
    const nlohmann::ordered_json document{
        {"command", plan.programs.front().argv}, {"directory", plan.directory}, {"ranks", ranks}};
    // Environments may contain bytes that are not UTF-8.
    return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace batchai::launcher
