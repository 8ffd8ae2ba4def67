// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/session.hpp"

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "launcher/cli/output/json_text.hpp"
#include "launcher/cli/output/query.hpp"
#include "launcher/cli/output/result_table.hpp"
#include "launcher/cli/output/result_text.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

bool notes_silenced = false;

// Whatever a name, a library or a program put into the message.
std::string one_line(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return sys::printable(text);
}

void say(const std::string& message) {
    std::cout.flush();
    std::cerr << "batchai: " << one_line(message) << std::endl;
}

int write_out(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
        return kOk;
    return fail(kFailed, sys::errno_error("standard output"));
}

}  // namespace

int Session::print(const nlohmann::json& result, const TableMaker& table) const {
    nlohmann::json shown = result;
    if (!query.empty()) {
        if (!query_available())
            return fail(kEnvironment,
                        "--query: needs the program jp (Debian's package jp) or jp.py (PyPI's "
                        "package jmespath): install one of them");
        auto answer = run_query(query, result);
        if (!answer) return fail(kBadInput, answer.error().in("--query: " + query));
        shown = *std::move(answer);
    }
    if (shown.is_null()) return kOk;  // as az: no answer prints nothing
    if (output == "none") return kOk;
    if (output == "tsv") return write_out(sys::printable_lines(tsv_text(shown)));
    if (output.starts_with("yaml")) return write_out(sys::printable_lines(yaml_text(shown)));
    if (output.starts_with("json"))
        return write_out(sys::printable_lines(json_text(shown, 2)) + "\n");
    return write_out((table && query.empty() ? table(shown) : result_table(shown))
                         .text(terminal_width(STDOUT_FILENO)));
}

int fail(ExitCode code, const std::string& message) {
    say(message);
    return code;
}

void note(const std::string& message) {
    if (!notes_silenced) say(message);
}

void silence_notes() {
    notes_silenced = true;
}

bool confirmed(bool yes, const std::string& question) {
    if (yes) return true;
    if (isatty(STDIN_FILENO) == 0) {
        note("cannot ask '" + question + "' without a terminal: say --yes");
        return false;
    }
    std::cerr << one_line(question) << " (y/n): " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace batchai::cli
