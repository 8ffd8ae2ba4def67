// SPDX-License-Identifier: Apache-2.0
#include "job/check_texts.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "job/layout.hpp"
#include "job/names.hpp"
#include "job/plan.hpp"
#include "job/reader.hpp"
#include "sys/text.hpp"

namespace batchai::job {

namespace {

constexpr std::string_view kVariables = "AZ_BATCHAI_";

std::string without_digits(std::string text) {
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
}

// The variable of the job that the file's author probably meant; empty: none is similar. Short ids
// of directories are all similar: an id must have four letters for each edit. Numbered directories
// are not misspelt.
std::string meant_variable(const std::string& name, const Environment& known) {
    std::set<std::string> candidates;
    for (const auto& [variable, value] : known) {
        if (!variable.starts_with(kVariables)) continue;
        if (equal_but_case(variable, name)) return variable;
        const std::string plain = without_digits(variable);
        const bool is_other_number = plain != variable && plain == without_digits(name);
        if (!is_other_number) candidates.insert(variable);
    }
    std::size_t fixed = kVariables.size();
    for (const std::string_view family : {"AZ_BATCHAI_INPUT_", "AZ_BATCHAI_OUTPUT_"})
        if (name.starts_with(family)) fixed = family.size();
    return sys::closest(name, candidates, std::min<std::size_t>((name.size() - fixed) / 4, 2));
}

class TextChecker {
  public:
    TextChecker(const Document& document, const JobSpec& spec, const SitePolicy& policy,
                const CheckOptions& options, std::vector<Finding>& findings)
        : document_(document),
          spec_(spec),
          policy_(policy),
          options_(options),
          findings_(findings) {}

    void run() {
        volumes_ = volumes_of(spec_, policy_);
        for (const std::string& target : options_.mounted)
            volumes_.emplace_back().relative_mount_path = target;
        groups_ = plan_launch(spec_, policy_, std::vector<int>(spec_.node_count));
        take_variables();
        collect(document_.root(), "");
        for (const auto& [path, text] : texts_) check_variables(path, text);
        for (const auto& [path, text] : texts_)
            if (is_shell_text(path, text) || path.starts_with("properties.environmentVariables["))
                check_places(path, text);
        for (const auto& [path, text] : texts_)
            if (is_shell_text(path, text) && read_shell_text(text).has_open_quote)
                say(Finding::Severity::error, path, "ends inside quotes: the shell refuses it");
        check_launcher();
        check_script();
        check_host_files();
        check_environment();
    }

  private:
    struct Text {
        std::string path;
        std::string text;
    };

    void say(Finding::Severity severity, const std::string& path, const std::string& message) {
        findings_.push_back(document_.finding(severity, path, message));
    }

    // All texts of the file except comments.
    void collect(const Json& json, const std::string& path) {
        if (json.is_string()) texts_.push_back({path, json.get<std::string>()});
        if (json.is_array())
            for (std::size_t i = 0; i < json.size(); ++i)
                collect(json[i], path + "[" + std::to_string(i) + "]");
        if (!json.is_object()) return;
        for (const auto& [key, value] : json.items())
            if (!is_comment(key)) collect(value, path.empty() ? key : path + "." + key);
    }

    bool is_of_toolkit(const std::string& path) const {
        return path.starts_with(spec_.toolkit.key + ".");
    }

    // The toolkit ignores some of its keys, such as a script beside a configuration.
    bool is_shell_text(const std::string& path, const std::string& text) const {
        const ToolkitSettings& own = spec_.toolkit;
        const auto texts = {own.command_line,     own.arguments,        own.master_arguments,
                            own.worker_arguments, own.server_arguments, own.config,
                            own.script,           own.interpreter};
        return path == "properties.jobPreparation.commandLine" ||
               (is_of_toolkit(path) && std::find(texts.begin(), texts.end(), text) != texts.end());
    }

    // The names of files that the toolkit starts.
    bool is_file(const std::string& path, const std::string& text) const {
        if (!is_of_toolkit(path)) return false;
        const std::string key = path.substr(spec_.toolkit.key.size() + 1);
        return (key == "pythonScriptFilePath" && text == spec_.toolkit.script) ||
               (key == "configFilePath" && text == spec_.toolkit.config) ||
               (key == "pythonInterpreterPath" && text == spec_.toolkit.interpreter);
    }

    bool has_effect(const std::string& path, const std::string& text) const {
        if (is_shell_text(path, text)) return true;
        const auto keys = {"environmentVariables[", "secrets[", "inputDirectories[",
                           "outputDirectories[", "stdOutErrPathPrefix"};
        return std::any_of(keys.begin(), keys.end(), [&](const char* key) {
            return path.starts_with(std::string("properties.") + key);
        });
    }

    // A toolkit's variables exist only in its processes.
    void take_variables() {
        job_ = job_environment(spec_, {}, {});
        for (const OutputDirectory& output : spec_.outputs)
            job_["AZ_BATCHAI_PREV_OUTPUT_" + output.id];
        processes_ = job_;
        for (const ProcessGroup& group : groups_)
            processes_.insert(group.variables.begin(), group.variables.end());
    }

    // The service replaced variables that a job does not have by an empty string, as a shell does.
    // A public recipe relies on this. So only a misspelt one, and the start of a file's name, is an
    // error.
    void check_variables(const std::string& path, const std::string& text) {
        const Environment& known = is_of_toolkit(path) ? processes_ : job_;
        std::set<std::string> missing;
        expand(text, known, [&](const std::string& name) { missing.insert(name); });
        for (const std::string& name : missing) {
            const bool sets_it = std::any_of(texts_.begin(), texts_.end(), [&](const Text& any) {
                return may_set_variable(any.text, name);
            });
            if (sets_it) continue;
            const std::string meant = meant_variable(name, known);
            const bool is_needed = is_file(path, text) &&
                                   (text.starts_with("$" + name) || text.starts_with("${" + name));
            if (!meant.empty() && has_effect(path, text))
                say(Finding::Severity::error, path,
                    "$" + name + " is not set in this job: did you mean $" + meant + "?");
            else if (is_needed)
                say(Finding::Severity::error, path,
                    "$" + name + " is not set in this job: '" + text + "' leads to no file");
            else
                say(Finding::Severity::warning, path,
                    "$" + name + " is not set in this job: an empty string replaces it");
        }
    }

    void check_places(const std::string& path, const std::string& text) {
        const bool is_needed = is_file(path, text) && is_plain_path(text);
        auto severity = is_needed ? Finding::Severity::error : Finding::Severity::warning;
        for (const std::string& named : paths_on_no_volume(text, volumes_))
            say(severity, path,
                is_needed
                    ? no_volume(named)
                    : "'" + named + "' is on no volume of this job: the job will not find it");
        const auto image = resolve_image(policy_, spec_);
        if (spec_.preparation_command || !image ||
            image->in_container())  // they may make or have it
            severity = Finding::Severity::warning;
        if (const std::string gone = no_service_path(text, policy_, options_); !gone.empty())
            say(severity, path, gone);
    }

    // batchai-launch starts the processes of all toolkits except a custom command.
    void check_launcher() {
        const ToolkitSettings& toolkit = spec_.toolkit;
        const bool is_once = std::any_of(
            groups_.begin(), groups_.end(),
            [](const ProcessGroup& group) { return group.placement == Placement::first_node; });
        const bool has_command = !toolkit.command_line.empty();
        const std::string program =
            read_shell_text(has_command ? toolkit.command_line : toolkit.interpreter).program;
        if (is_once || !starts_ranks(program)) return;
        if (spec_.node_count == 1 && toolkit.process_count == 1) return;
        say(Finding::Severity::error,
            toolkit.key + (has_command ? ".commandLine" : ".pythonInterpreterPath"),
            "each of the job's processes would run " + program + ": leave '" + program +
                "' and its options out and set processCount, or use customToolkitSettings, which "
                "runs a command once");
    }

    // The path of a text in which only $AZ_BATCHAI_INPUT_ variables are replaced.
    std::string with_inputs(const std::string& text) const {
        Environment inputs = {{"AZ_BATCHAI_JOB_MOUNT_ROOT", "$AZ_BATCHAI_JOB_MOUNT_ROOT"},
                              {"AZ_BATCHAI_MOUNT_ROOT", "$AZ_BATCHAI_MOUNT_ROOT"}};
        for (const InputDirectory& input : spec_.inputs)
            inputs["AZ_BATCHAI_INPUT_" + input.id] = expand(input.path, inputs);
        return expand(text, inputs);
    }

    void check_script() {
        const ToolkitSettings& toolkit = spec_.toolkit;
        const bool has_script = !toolkit.script.empty();
        const std::string key =
            toolkit.key + (has_script ? ".pythonScriptFilePath" : ".configFilePath");
        const std::string& named = has_script ? toolkit.script : toolkit.config;
        if (is_relative_file(named) &&
            !(has_script && options_.is_brought && options_.is_brought(named)))
            say(Finding::Severity::warning, key,
                "'" + named +
                    "' is looked for in $AZ_BATCHAI_JOB_TEMP/wd, where the job starts: write "
                    "$AZ_BATCHAI_JOB_MOUNT_ROOT/... for a file of a share");
        const std::string script = with_inputs(named);
        const bool is_found = !paths_on_no_volume(named, volumes_).empty();  // by check_places
        if (!is_found && is_plain_path(script))
            for (const std::string& path : paths_on_no_volume(script, volumes_))
                say(Finding::Severity::error, key, no_volume(path));
        // Only a shell may be able to tell where the script is.
        Environment variables = {{"AZ_BATCHAI_JOB_MOUNT_ROOT", "/"},
                                 {"AZ_BATCHAI_MOUNT_ROOT", "/"}};
        for (const InputDirectory& input : spec_.inputs)
            variables["AZ_BATCHAI_INPUT_" + input.id] = expand(input.path, variables);
        if (!options_.file_exists || script_path(spec_, variables, {}).empty()) return;
        const auto path = login_path(spec_, policy_, script);
        if (path && !options_.file_exists(*path))
            say(Finding::Severity::error, key,
                "'" + script + "' is not a file there: upload it to " + *path);
    }

    // True if shell text is the name of one file, relative to the directory in which the job
    // starts.
    static bool is_relative_file(const std::string& text) {
        return is_plain_path(text) && text.find_first_of("${}") == text.npos &&
               std::string_view("/-~").find(text.front()) == std::string_view::npos;
    }

    // A preparation may make the files, and a container may have them.
    void check_host_files() {
        const auto image = resolve_image(policy_, spec_);
        if (!options_.is_missing || spec_.preparation_command || !image || image->in_container())
            return;
        const ToolkitSettings& toolkit = spec_.toolkit;
        for (const auto& [key, file] : {std::pair{".pythonScriptFilePath", toolkit.script},
                                        {".configFilePath", toolkit.config},
                                        {".pythonInterpreterPath", toolkit.interpreter}})
            if (file.starts_with('/') && is_plain_path(file) && file.find('$') == file.npos &&
                !service_path(file) && options_.is_missing(file))
                say(Finding::Severity::warning, toolkit.key + key,
                    "'" + file +
                        "' is not on this machine: the job finds it only if it is on the "
                        "job's nodes");
    }

    void check_environment() {
        for (std::size_t i = 0; i < spec_.environment.size(); ++i) {
            const auto& [name, value, reference] = spec_.environment[i];
            const std::string path =
                "properties.environmentVariables[" + std::to_string(i) + "].value";
            if (const std::string other = other_variable(value); !other.empty())
                say(Finding::Severity::warning, path,
                    "'" + other +
                        "' stays as it is: only $AZ_BATCHAI_ variables are replaced here");
            else if (name == "PATH" && !has_system_directory(value))
                say(Finding::Severity::warning, path,
                    "'" + value +
                        "' replaces the job's PATH, which then has no system programs: "
                        "add :/usr/bin:/bin");
        }
    }

    // The first $NAME or ${NAME} that no one replaces; empty: there is none. Passwords and other
    // texts may have a dollar in them, so only a name of capital letters counts.
    static std::string other_variable(const std::string& value) {
        for (std::size_t at = value.find('$'); at != value.npos; at = value.find('$', at + 1)) {
            const std::size_t begin = at + (value.compare(at + 1, 1, "{") == 0 ? 2 : 1);
            const std::size_t end =
                std::min(value.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", begin),
                         value.size());
            const std::string name = value.substr(begin, end - begin);
            const bool is_whole = end == value.size() || !is_variable_name(value.substr(end, 1));
            if (is_whole && is_variable_name(name) && !name.starts_with(kVariables) &&
                !name.starts_with("AZ_LEARNING_"))
                return "$" + name;
        }
        return {};
    }

    static bool has_system_directory(const std::string& path) {
        const std::string all = ":" + path + ":";
        return all.find(":/usr/bin:") != all.npos || all.find(":/bin:") != all.npos;
    }

    const Document& document_;
    const JobSpec& spec_;
    const SitePolicy& policy_;
    const CheckOptions& options_;
    std::vector<Finding>& findings_;
    std::vector<Volume> volumes_;
    std::vector<ProcessGroup> groups_;
    Environment job_;        // the variables of the preparation
    Environment processes_;  // those of the toolkit's processes
    std::vector<Text> texts_;
};

}  // namespace

std::string no_service_path(const std::string& text, const SitePolicy& policy,
                            const CheckOptions& options) {
    const auto found = service_path(text);
    if (!found || is_within(found->path, policy.mount_root) || !options.is_missing ||
        !options.is_missing(std::string(kServiceNodes)))
        return {};
    return "'" + found->path + "' is a path of the service's nodes: write " +
           (found->here.empty() ? "$AZ_BATCHAI_JOB_MOUNT_ROOT/VOLUME/..." : found->here);
}

void check_texts(const Document& document, const JobSpec& spec, const SitePolicy& policy,
                 const CheckOptions& options, std::vector<Finding>& findings) {
    TextChecker(document, spec, policy, options, findings).run();
}

}  // namespace batchai::job
