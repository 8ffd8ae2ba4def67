// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/admin/machine.hpp"
#include "sys/file.hpp"

namespace batchai::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugin = "spank_batchai.so";
constexpr std::size_t kLargestFile = 1 << 20;
constexpr int kDeepestInclude = 16;

using Lines = std::vector<PlugstackLine>;

sys::Result<void> read(const std::string& file, int depth, Lines& found);

sys::Result<void> include(const std::string& pattern, const std::string& from, int depth,
                          Lines& found) {
    if (depth >= kDeepestInclude) return sys::Error{from + ": files include each other"};
    const std::string whole = fs::path(from).parent_path() / pattern;  // or an absolute pattern
    glob_t matches = {};
    ::glob(whole.c_str(), 0, nullptr, &matches);
    const std::vector<std::string> files(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    ::globfree(&matches);
    for (const std::string& file : files)
        if (auto done = read(file, depth + 1, found); !done) return done;
    return {};
}

// Splits at Slurm's separators and removes a comment. A carriage return is not a separator.
std::vector<std::string> words_of(const std::string& line) {
    std::string text = line.substr(0, line.find('#'));
    std::replace(text.begin(), text.end(), '\t', ' ');
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; std::getline(stream, word, ' ');)
        if (!word.empty()) words.push_back(word);
    return words;
}

// Why Slurm skips the line or misreads it; empty: it does neither.
std::string wrong_with(const std::vector<std::string>& words) {
    for (const std::string& word : words)
        if (word.find('\r') != word.npos)
            return "has a carriage return, which Slurm takes for part of a word: write lines as "
                   "Unix does";
    if (words[0] != "required" && words[0] != "optional" && words[0] != "include")
        return fmt::format("starts with '{}': expected required, optional or include", words[0]);
    if (words.size() == 1) return fmt::format("names no file after '{}'", words[0]);
    return {};
}

sys::Result<void> read(const std::string& file, int depth, Lines& found) {
    const auto text = sys::read_file(file, kLargestFile);
    if (!text) return text.error();
    std::istringstream lines(*text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        const auto words = words_of(line);
        if (words.empty()) continue;
        if (const std::string wrong = wrong_with(words); !wrong.empty())
            return sys::Error{fmt::format("{}:{}: {}", file, number, wrong)};
        if (words[0] == "include") {
            if (auto done = include(words[1], file, depth, found); !done) return done;
        } else if (fs::path(words[1]).filename() == kPlugin) {
            found.push_back(
                {file, number, words[0] == "required", words[1], {words.begin() + 2, words.end()}});
        }
    }
    return {};
}

}  // namespace

std::string PlugstackLine::argument(const std::string& name, const std::string& otherwise) const {
    for (const std::string& text : arguments)
        if (text.starts_with(name + "=")) return text.substr(name.size() + 1);
    return otherwise;
}

std::vector<std::string> PlugstackLine::unknown_words() const {
    std::vector<std::string> unknown;
    for (const std::string& text : arguments)
        if (!text.starts_with("policy=") && !text.starts_with("libexec=") &&
            !text.starts_with("counters="))
            unknown.push_back(text);
    return unknown;
}

std::string PlugstackLine::place() const {
    return fmt::format("{}:{}", file, number);
}

sys::Result<std::vector<PlugstackLine>> find_our_lines(const std::string& plugstack_file) {
    Lines found;
    if (auto done = read(plugstack_file, 0, found); !done) return done.error();
    return found;
}

namespace {

constexpr std::size_t kLargestPlugin = 16 << 20;
constexpr const char* kMark = "@(#)batchai plugin ";  // what(1) finds texts with this prefix
constexpr std::size_t kLongest = 64;

}  // namespace

sys::Result<BuiltFor> built_for(const std::string& plugin) {
    const auto bytes = sys::read_file(plugin, kLargestPlugin);
    if (!bytes) return bytes.error();
    BuiltFor built;
    std::string word, slurm;
    const std::size_t at = bytes->find(kMark);
    if (at != bytes->npos) {
        std::istringstream words(bytes->substr(at + std::string(kMark).size(), kLongest));
        words >> built.batchai >> word >> slurm >> built.slurm;
    }
    built.slurm = built.slurm.substr(0, built.slurm.find('\0'));
    if (word != "for" || slurm != "Slurm" || built.slurm.empty())
        return sys::Error{plugin +
                          ": names no Slurm release: it is not a plugin of batchai, or an old one"};
    return built;
}

}  // namespace batchai::cli
