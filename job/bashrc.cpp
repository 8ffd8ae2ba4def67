// SPDX-License-Identifier: Apache-2.0
#include "job/bashrc.hpp"

#include "sys/shell.hpp"

namespace batchai::job {

namespace {

// The command runs in a subshell: it may exit. All of it is one line, so that the shell's messages
// count the lines of the command. The paths are written so that the preparation's memory
// (spank/prep/inputs.hpp) does not take them for files and variables that the command depends on.
// Any shell reads it: an image's bash may be another one. What was added is cut off by tail: the
// shells take the square of a long file's size for ${now#before}.
constexpr char kBefore[] = R"(batchai_file=~/.bash; batchai_file="${batchai_file}rc"; )"
                           R"(batchai_bashrc=$(cat "$batchai_file" 2>/dev/null); (eval )";
constexpr char kAfter[] =
    R"(); batchai_code=$?; batchai_now=$(cat "$batchai_file" 2>/dev/null); )"
    R"(if [ $batchai_code = 0 ]; then case "$batchai_now" in "$batchai_bashrc") ;; )"
    R"("$batchai_bashrc"*) )"
    R"(printf '%s\n' "$batchai_now" | )"
    R"(tail -c +$(($(printf %s "$batchai_bashrc" | wc -c) + 1)) >../.bashrc || batchai_code=1 ;; )"
    R"(*) echo 'batchai: the preparation changed .bashrc elsewhere than at its end: )"
    R"(the ranks do not read the change' >&2 )"
    R"(;; esac; fi; exit $batchai_code)";

}  // namespace

std::string noting_bashrc(const std::string& command) {
    return kBefore + sys::shell_quoted(command) + kAfter;
}

std::string reading_bashrc(const std::string& command) {
    return std::string(". \"$AZ_BATCHAI_JOB_TEMP/") + kAddedToBashrc + "\"; " + command;
}

}  // namespace batchai::job
