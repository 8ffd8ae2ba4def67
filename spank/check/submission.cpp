// SPDX-License-Identifier: Apache-2.0
#include "spank/check/submission.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "sys/file.hpp"

namespace batchai::spank {
namespace {

constexpr std::size_t kMaximum = 4 << 20;

// Options of sbatch, salloc and srun without a value, or with one after "=" only.
constexpr std::string_view kShortFlags = "hHIklKOQsuvVWXZ";
constexpr std::string_view kFlags =
    " bell contiguous exact exclusive get-user-env help hold ignore-pbs immediate "
    "kill-command label multi-prog kill-on-bad-exit nice no-allocate no-bell no-kill "
    "no-requeue no-shell overcommit overlap oversubscribe parsable preserve-env propagate pty "
    "quiet reboot requeue share spread-job test-only unbuffered use-min-nodes verbose wait ";
constexpr std::string_view kShortValues = "AaBbCcDdEeFGiJLMmnopPqrSTtUwx";
constexpr std::string_view kValues =
    " account array batchai-job batchai-mount batchai-output batchai-prep begin chdir "
    "clusters comment constraint core-spec cores-per-socket cpus-per-gpu cpus-per-task "
    "deadline dependency distribution error exclude export export-file extra-node-info gid "
    "gpus gpus-per-node gpus-per-socket gpus-per-task gres hint input job-name licenses "
    "mail-type mail-user mem mem-per-cpu mem-per-gpu mpi nodefile nodelist ntasks "
    "ntasks-per-node open-mode output partition qos reservation signal time time-min tmp uid "
    "wrap ";

// list: names with a blank before and after each.
bool one_of(std::string_view name, std::string_view list) {
    return list.find(" " + std::string(name) + " ") != list.npos;
}

// Slurm accepts the start of a long option's name, if no other option starts like it.
bool is_short_for(std::string_view text, std::string_view name, std::size_t from) {
    return text.size() >= from && name.starts_with(text);
}

// The result of reading the options.
struct Reading {
    std::string nodes;        // the last -N; empty: none
    std::string first_other;  // the first word that is not an option or an option's value
    bool is_test = false;
    bool is_array = false;
    bool moves = false;      // the options include --chdir
    bool names_job = false;  // the options include --jobid
    bool certain = true;
};

class Words {
  public:
    explicit Words(const std::vector<std::string>& words) : words_(words) {}

    Reading read() {
        while (reading_.certain && next_ < words_.size()) {
            const std::string& word = words_[next_++];
            if (word == "--" || !word.starts_with('-') || word == "-") {
                if (word != "--")
                    reading_.first_other = word;
                else if (next_ < words_.size())
                    reading_.first_other = words_[next_];
                break;
            }
            if (word.starts_with("--"))
                read_long(std::string_view(word).substr(2));
            else
                read_short(std::string_view(word).substr(1));
        }
        return reading_;
    }

  private:
    std::string value() { return next_ < words_.size() ? words_[next_++] : std::string(); }

    void read_long(std::string_view option) {
        const std::size_t equals = option.find('=');
        const std::string_view name = option.substr(0, equals);
        const bool has_value = equals != option.npos;
        reading_.is_test = reading_.is_test || name == "test-only";
        reading_.is_array = reading_.is_array || is_short_for(name, "array", 2);
        reading_.moves = reading_.moves || is_short_for(name, "chdir", 3);
        reading_.names_job = reading_.names_job || is_short_for(name, "jobid", 4);
        if (name == "nodes")
            reading_.nodes = has_value ? std::string(option.substr(equals + 1)) : value();
        else if (has_value || one_of(name, kFlags))
            return;
        else if (one_of(name, kValues))
            value();
        else
            reading_.certain = false;
    }

    void read_short(std::string_view letters) {
        for (; !letters.empty(); letters.remove_prefix(1)) {
            const char letter = letters.front();
            const std::string rest(letters.substr(1));
            reading_.is_array = reading_.is_array || letter == 'a';
            reading_.moves = reading_.moves || letter == 'D';
            if (letter == 'N') {
                reading_.nodes = rest.empty() ? value() : rest;
                return;
            }
            if (kShortValues.find(letter) != kShortValues.npos) {
                if (rest.empty()) value();
                return;
            }
            if (kShortFlags.find(letter) == kShortFlags.npos) {
                reading_.certain = false;
                return;
            }
        }
    }

    const std::vector<std::string>& words_;
    std::size_t next_ = 1;
    Reading reading_;
};

bool is_blank(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}

// The separator of a heterogeneous job's components in a script.
bool ends_component(const std::string& word) {
    return word == "hetjob" || word == "packjob";
}

// Reads the #SBATCH lines of a batch script up to its first command, and only of its first
// component. It does not interpret quotes.
Reading read_script(const std::string& path) {
    const auto text = sys::read_file(path, kMaximum);
    Reading all;
    if (!text) return all;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
        const auto first = std::find_if_not(line.begin(), line.end(), is_blank);
        if (first != line.end() && *first != '#') break;
        if (!line.starts_with("#SBATCH")) continue;
        line.resize(std::min(line.find('#', 1), line.size()));
        std::istringstream parts(line);
        std::vector<std::string> words;
        for (std::string word; parts >> word;) words.push_back(word);
        if (std::any_of(words.begin(), words.end(), ends_component)) break;
        const Reading one = Words(words).read();
        if (!one.certain || line.find_first_of("\"'\\") != line.npos) all.certain = false;
        if (!one.nodes.empty()) all.nodes = one.nodes;
        all.is_array = all.is_array || one.is_array;
    }
    return all;
}

// Parses "2" or "2-4"; nullopt for any other text.
std::optional<AskedNodes> parse(const std::string& text) {
    AskedNodes asked{text, 0, 0};
    const char* const end = text.data() + text.size();
    std::from_chars_result read = std::from_chars(text.data(), end, asked.least);
    asked.most = asked.least;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
        read = std::from_chars(read.ptr + 1, end, asked.most);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return asked;
}

}  // namespace

Submission submission_of(const std::vector<std::string>& words) {
    Submission submission;
    if (words.empty()) return submission;
    const std::string program = words.front().substr(words.front().rfind('/') + 1);
    submission.is_sbatch = program == "sbatch";
    Reading reading = Words(words).read();
    submission.is_test = reading.is_test;
    submission.is_array = reading.is_array;
    // Inside an allocation, -N belongs to the step.
    if (program == "srun" && (reading.names_job || ::getenv("SLURM_JOB_ID") != nullptr ||
                              ::getenv("SLURM_JOBID") != nullptr))
        return submission;
    if (submission.is_sbatch && ::getenv("SBATCH_ARRAY_INX") != nullptr) submission.is_array = true;
    // sbatch looks for a relative path in the directory of --chdir.
    const bool is_elsewhere = reading.moves && !reading.first_other.starts_with('/');
    if (submission.is_sbatch && reading.certain && !reading.first_other.empty() && !is_elsewhere) {
        Reading script = read_script(reading.first_other);
        submission.is_array = submission.is_array || script.is_array;
        if (reading.nodes.empty()) reading = std::move(script);
    }
    if (reading.certain && !reading.nodes.empty()) submission.nodes = parse(reading.nodes);
    return submission;
}

Submission parent_submission() {
    const auto text = sys::read_file("/proc/" + std::to_string(::getppid()) + "/cmdline", kMaximum);
    std::vector<std::string> words;
    std::istringstream parts(text ? *text : "");
    for (std::string word; std::getline(parts, word, '\0');) words.push_back(word);
    return submission_of(words);
}

}  // namespace batchai::spank
