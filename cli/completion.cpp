// SPDX-License-Identifier: Apache-2.0
//
// batchai completion: prints the completion script for bash, made from the command tree.
// etc/completion/batchai.bash is its output; a unit test compares the two. The scripts for zsh and
// fish (etc/completion) run the one for bash.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/command_options.hpp"
#include "cli/verbs.hpp"

namespace batchai::cli {
namespace {

constexpr const char* kHead = R"(# SPDX-License-Identifier: Apache-2.0
# bash completion for batchai; made by `batchai completion`.
_batchai() {
    local word path="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in -*) break ;; esac
        path+=" $word"
    done
    local previous=${COMP_WORDS[COMP_CWORD - 1]} current=${COMP_WORDS[COMP_CWORD]} words=""
    case $previous in
        -o | --output) words="json jsonc yaml yamlc table tsv none" ;;
        -f | --config-file | --source | --dest)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        -n | --name | -j | --job)
            case $path in
                " job create" | " job run" | " job check") ;;
                " job "*) words=$(batchai job list --query '[].name' --output tsv 2>/dev/null) ;;
            esac
            ;;
    esac
    [ -n "$words" ] || case $path in
)";

constexpr const char* kTail = R"(    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o filenames -F _batchai batchai
)";

void add_cases(std::string& text, const CLI::App& command, const std::string& path) {
    std::string words;
    for (const auto* sub : command.get_subcommands({})) words += sub->get_name() + " ";
    for (const auto* option : command.get_options())
        for (const auto& name : option->get_lnames()) words += "--" + name + " ";
    if (!words.empty()) words.pop_back();
    text += fmt::format("        \"{}\") words=\"{}\" ;;\n", path, words);
    for (const auto* sub : command.get_subcommands({}))
        add_cases(text, *sub, path + " " + sub->get_name());
}

}  // namespace

std::string bash_completion(const CLI::App& command) {
    std::string text = kHead;
    add_cases(text, command, "");
    return text + kTail;
}

void add_completion(CLI::App& parent, Session& session) {
    CLI::App* verb = parent.add_subcommand("completion", "print the completion script for bash");
    verb->footer("Example:\n  batchai completion > /etc/bash_completion.d/batchai");
    verb->callback([&parent, &session] {
        session.action = [&parent] {
            fmt::print("{}", bash_completion(parent));
            return kOk;
        };
    });
}

}  // namespace batchai::cli
