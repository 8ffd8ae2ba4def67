// SPDX-License-Identifier: Apache-2.0
#include "cli/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "cli/output/result_table.hpp"
#include "cli/output/result_text.hpp"
#include "sys/text.hpp"

namespace batchai::cli {
namespace {

bool notes_silenced = false;

// A message may contain names, and text of libraries and other programs.
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

// Users count the columns of tsv output. A key that the service did not have would shift them.
void drop_own_key(nlohmann::ordered_json& result) {
    if (result.is_object()) result.erase("slurm");
    if (!result.is_array()) return;
    for (auto& item : result)
        if (item.is_object()) item.erase("slurm");
}

}  // namespace

int Session::print(const nlohmann::json& result, const TableMaker& table) const {
    nlohmann::ordered_json shown = result;
    if (!query.empty()) {
        auto answer = run_query(query, result);
        if (!answer) return fail(kBadInput, answer.error().in("--query " + query));
        if (!*answer)
            return fail(kEnvironment,
                        "--query: needs a python3 with the module jmespath (Debian's package "
                        "python3-jmespath, PyPI's jmespath): install it");
        shown = **std::move(answer);
    }
    if (shown.is_null()) return kOk;  // az prints nothing for an empty answer
    if (form() == "none") return kOk;
    if (form() == "tsv") {
        if (query.empty()) drop_own_key(shown);
        return write_out(tsv_text(shown));
    }
    if (form().starts_with("yaml")) return write_out(sys::printable_lines(yaml_text(shown)));
    if (form().starts_with("json")) return write_out(printed_json(shown) + "\n");
    return print_table(table && query.empty() ? table(shown) : result_table(shown));
}

bool Session::wants_words() const {
    return query.empty() && output.empty() && isatty(STDOUT_FILENO) != 0;
}

int Session::print_table(const Table& table) const {
    return write_out(table.text(terminal_width(STDOUT_FILENO)));
}

int Session::print_documents(const std::vector<std::string>& documents) const {
    constexpr std::size_t kBlock = 1 << 20;
    std::string text = "[";
    const char* separator = "\n  ";
    for (const std::string& document : documents) {
        text += separator;
        separator = ",\n  ";
        for (std::size_t start = 0, end = 0; end < document.size(); start = end) {
            end = std::min(document.find('\n', start), document.size() - 1) + 1;
            text.append(document, start, end - start);
            if (text.back() == '\n') text += "  ";
        }
        if (text.size() < kBlock) continue;
        if (const int code = write_out(text); code != kOk) return code;
        text.clear();
    }
    return write_out(text + (documents.empty() ? "]\n" : "\n]\n"));
}

std::string printed_json(const nlohmann::json& document) {
    return sys::printable_lines(json_text(document, 2));
}

int fail(ExitCode code, const std::string& message) {
    say(message);
    return code;
}

void note(const std::string& message) {
    if (!notes_silenced) say(message);
}

bool shows_notes() {
    return !notes_silenced;
}

void silence_notes() {
    notes_silenced = true;
}

bool confirmed(bool yes, const std::string& question) {
    if (yes) return true;
    if (isatty(STDIN_FILENO) == 0) {
        note("cannot ask '" + question + "' without a terminal: give --yes");
        return false;
    }
    std::cerr << one_line(question) << " (y/n): " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace batchai::cli
