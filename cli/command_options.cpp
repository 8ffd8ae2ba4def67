// SPDX-License-Identifier: Apache-2.0
#include "cli/command_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "cli/programs.hpp"

namespace batchai::cli {
namespace {

constexpr std::size_t kLongestName = 64;

CLI::Validator name_validator(const std::string& also) {
    return CLI::Validator(
        [also](std::string& text) -> std::string {
            const bool good = !text.empty() && text.size() <= kLongestName && text != "." &&
                              text != ".." && text[0] != '-' &&
                              std::all_of(text.begin(), text.end(), [&](unsigned char c) {
                                  return std::isalnum(c) != 0 || c == '-' || c == '_' ||
                                         also.find(static_cast<char>(c)) != std::string::npos;
                              });
            if (good) return {};
            return "'" + text + "' is not a name: 1 to 64 letters, digits, '-' and '_'" +
                   (also.empty() ? "" : " and '" + also + "'") + ", and the first is not '-'";
        },
        "NAME");
}

std::string path_complaint(const std::string& path) {
    const bool leaves = ("/" + path + "/").find("/../") != std::string::npos;
    return leaves ? "'" + path + "' must stay below the share, without '..'" : "";
}

}  // namespace

CLI::Validator number_from(double least, double most) {
    return CLI::Validator(
        [least, most](std::string& text) -> std::string {
            double number = 0;
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), number);
            // In this form the condition refuses NaN, because each comparison with NaN is false.
            if (error == std::errc() && end == text.data() + text.size() && number >= least &&
                number <= most)
                return {};
            return fmt::format("must be a number from {} to {}, is '{}'", least, most, text);
        },
        "NUMBER");
}

const CLI::Validator kSharePath(path_complaint, "PATH");
const CLI::Validator kDirectory(
    [](const std::string& path) {
        const bool is_nothing = path.find_first_not_of('/') == std::string::npos || path == ".";
        return is_nothing ? "'" + path + "' is not a name of a directory" : path_complaint(path);
    },
    "PATH");

const CLI::Validator kLastOfId(
    [](std::string& text) {
        Scope anywhere;
        take_arm_id(text, anywhere);
        return std::string();
    },
    "");

const CLI::Validator kName = name_validator("");
const CLI::Validator kGroupName = name_validator(".");

CLI::Validator id_in(Scope& scope) {
    return CLI::Validator(
        [&scope](std::string& text) {
            take_arm_id(text, scope);
            return std::string();
        },
        "");
}

bool is_name(const std::string& text) {
    std::string copy = text;
    return kName(copy).empty();
}

void add_arm_name(CLI::App& verb, const std::string& names, std::string& name, Scope& scope,
                  const CLI::Validator& check, const std::string& description) {
    verb.add_option(names, name, description)->transform(id_in(scope))->check(check)->required();
}

void take_arm_id(std::string& text, Scope& scope) {
    if (!text.starts_with("/subscriptions/")) return;
    const std::vector<std::string> parts = CLI::detail::split(text.substr(1), '/');
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
        if (parts[i] == "resourceGroups") scope.resource_group = parts[i + 1];
        if (parts[i] == "workspaces") scope.workspace = parts[i + 1];
        if (parts[i] == "experiments") scope.experiment = parts[i + 1];
    }
    text = parts.back();
    // A task of a job array: ".../jobs/train/3". Keys and values alternate in all other ids.
    if (parts.size() % 2 == 1 && parts.size() > 2 && parts[parts.size() - 3] == "jobs")
        text = *(parts.end() - 2) + "/" + text;
}

CLI::App* add_verb(CLI::App& parent, Session& session, const std::string& name,
                   const std::string& description, const std::string& example) {
    CLI::App* verb = parent.add_subcommand(name, description);
    verb->footer("Example:\n  " + example);
    verb->add_option("-o,--output", session.output, "json, yaml, table, tsv or none")
        ->transform(CLI::IsMember({"json", "jsonc", "yaml", "yamlc", "table", "tsv", "none"},
                                  CLI::ignore_case))
        ->envname("AZURE_CORE_OUTPUT")
        ->type_name("FORM")
        ->group("Global");
    verb->add_option("--query", session.query, "JMESPath over the result")->group("Global");
    verb->add_flag_callback("--verbose,--debug", announce_programs, "say which programs are run")
        ->group("Global");
    verb->add_flag_callback("--only-show-errors", silence_notes, "no notes, no warnings")
        ->group("Global");
    ignore_options(*verb, {"--subscription"});
    return verb;
}

void ignore_options(CLI::App& verb, const std::vector<std::string>& names) {
    for (const auto& name : names)
        verb.add_option_function<std::vector<std::string>>(
                name, [](const std::vector<std::string>&) {}, "")
            ->expected(1)
            ->take_all()
            ->group("Accepted, without meaning here");
}

void ignore_flags(CLI::App& verb, const std::vector<std::string>& names) {
    for (const auto& name : names)
        verb.add_flag_function(
                name, [](std::int64_t) {}, "")
            ->group("Accepted, without meaning here");
}

namespace {

// An option for a part of a scope. The command line goes before AZURE_DEFAULTS_<variable>, and that
// before `batchai configure`.
void add_scope_option(CLI::App& verb, const std::string& names, const std::string& what,
                      const std::string& variable, const CLI::Validator& check, std::string& name,
                      const std::string& configured) {
    if (!configured.empty()) name = configured;
    verb.add_option(names, name, what)
        ->envname("AZURE_DEFAULTS_" + variable)
        ->transform(kLastOfId)
        ->check(check)
        ->capture_default_str();
}

}  // namespace

void add_group_option(CLI::App& verb, Scope& scope) {
    add_scope_option(verb, "-g,--resource-group", "resource group", "GROUP", kGroupName,
                     scope.resource_group, configured_scope().resource_group);
}

void add_workspace_options(CLI::App& verb, Scope& scope) {
    add_group_option(verb, scope);
    add_scope_option(verb, "-w,--workspace", "workspace", "WORKSPACE", kName, scope.workspace,
                     configured_scope().workspace);
}

void add_experiment_options(CLI::App& verb, Scope& scope) {
    add_workspace_options(verb, scope);
    add_scope_option(verb, "-e,--experiment", "experiment", "EXPERIMENT", kName, scope.experiment,
                     configured_scope().experiment);
}

void add_assignment_options(CLI::App& verb, std::vector<std::string>& shares,
                            std::vector<std::string>& images) {
    verb.add_option("--share", shares, "NAME=DIRECTORY: a share, container or file server of it")
        ->expected(1)
        ->take_all();
    verb.add_option("--image", images, "NAME=host: run this container image's job on the host")
        ->expected(1)
        ->take_all();
}

}  // namespace batchai::cli
