// SPDX-License-Identifier: Apache-2.0
#include "job/bashrc.hpp"

#include "sys/shell.hpp"

namespace batchai::job {

namespace {

// The command runs in a subshell, because it may exit. The whole text is one line, so that the
// shell's messages count the command's own lines. The paths are written in parts, so that the
// preparation's memory (spank/prep/memory.cpp) does not take them for files and variables of the
// command. Any shell must be able to read it: an image may have another bash. tail cuts off the
// added text, because ${now#before} takes quadratic time on a long file.
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
