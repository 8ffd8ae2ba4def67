// SPDX-License-Identifier: Apache-2.0
#include "spank/check/submission.hpp"

#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "sys/file.hpp"

namespace batchai::spank {
namespace {

constexpr std::size_t kMaxCommandLine = 4 << 20;

// As getopt_long has it: "--test" is "--test-only".
bool is_option(const std::string& word, const std::string& name, std::size_t least) {
    const std::string given = word.substr(0, word.find('='));
    return given.size() >= least && name.starts_with(given);
}

}  // namespace

Submission parse_submission(const std::vector<std::string>& words, const std::string& job_file) {
    Submission submission;
    if (words.empty()) return submission;
    submission.is_sbatch = std::filesystem::path(words[0]).filename() == "sbatch";
    bool value_may_follow = false;  // of an option without '='
    for (auto word = words.begin() + 1; word != words.end(); ++word) {
        if (!word->starts_with('-')) {
            if (!value_may_follow || (*word != job_file && sys::is_regular_file(*word))) break;
            value_may_follow = false;
            continue;
        }
        value_may_follow = word->find('=') == word->npos;
        if (is_option(*word, "--test-only", 4)) submission.is_test = true;
        if (is_option(*word, "--array", 4) || word->starts_with("-a")) submission.is_array = true;
    }
    return submission;
}

Submission parent_submission(const std::string& job_file) {
    const auto text =
        sys::read_file("/proc/" + std::to_string(getppid()) + "/cmdline", kMaxCommandLine);
    std::vector<std::string> words;
    std::istringstream parts(text ? *text : "");
    for (std::string word; std::getline(parts, word, '\0');) words.push_back(word);
    return parse_submission(words, job_file);
}

}  // namespace batchai::spank
