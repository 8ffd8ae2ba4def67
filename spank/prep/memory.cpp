// SPDX-License-Identifier: Apache-2.0
#include "spank/prep/memory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

#include "sys/digest.hpp"
#include "sys/file.hpp"

namespace batchai::spank {
namespace {

constexpr std::size_t kFileMaximum = 256;

std::string cache_directory() {
    for (const auto& [name, below] : {std::pair{"XDG_CACHE_HOME", ""}, {"HOME", "/.cache"}}) {
        const char* value = std::getenv(name);
        if (value != nullptr && value[0] == '/') return std::string(value) + below;
    }
    return {};
}

// The directory, which is made if it is missing. Empty if another user could write to it.
std::string own_directory() {
    std::string directory = cache_directory();
    if (directory.empty()) return {};
    for (const char* below : {"", "/batchai", "/preparation"}) {
        directory += below;
        if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return {};
    }
    struct stat status = {};
    const bool own = lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                     status.st_uid == geteuid() && (status.st_mode & 022) == 0;
    return own ? directory : std::string();
}

// "started IDENTITY" or "succeeded IDENTITY DIGEST TIME".
struct Note {
    std::string state;
    std::string identity;
    std::string digest;
    double time = 0;
};

Note read_note(const std::string& file) {
    Note note;
    if (const auto text = sys::read_file(file, kFileMaximum))
        std::istringstream(*text) >> note.state >> note.identity >> note.digest >> note.time;
    return note;
}

}  // namespace

Memory::Memory(const std::string& node) {
    const std::string directory = own_directory();
    if (!directory.empty() && node.find('/') == node.npos) file_ = directory + "/" + node;
}

std::optional<double> Memory::succeeded_since(double earliest, const Inputs& inputs) const {
    if (file_.empty()) return std::nullopt;
    const Note note = read_note(file_);
    if (note.state != "succeeded" || note.digest != inputs.digest || note.time < earliest)
        return std::nullopt;
    return note.time;
}

void Memory::note_start(const Inputs& inputs) const {
    if (file_.empty()) return;
    if (!sys::write_file(file_, "started " + inputs.identity + "\n", 0600)) forget();
}

void Memory::note_success(const Inputs& before, const Inputs& after, double time) const {
    if (file_.empty()) return;
    const bool alone = read_note(file_).identity == before.identity;
    if (!alone || !unchanged(before, after) ||
        !sys::write_file(
            file_, fmt::format("succeeded {} {} {:.0f}\n", before.identity, after.digest, time),
            0600))
        forget();
}

void Memory::forget() const {
    if (!file_.empty()) unlink(file_.c_str());
}

namespace {

using Environment = std::map<std::string, std::string>;

constexpr std::size_t kWordMaximum = 1000;
constexpr std::size_t kDirectoryMaximum = 8;
constexpr std::size_t kScriptMaximum = 1024 * 1024;  // a larger file is not read

// Prefixes of variables that differ from one job or login to the next.
constexpr std::string_view kPassing =
    " AZ_BATCHAI_JOB_TEMP AZ_BATCHAI_SHARED_JOB_TEMP AZ_BATCHAI_STDOUTERR_DIR "
    "AZ_BATCHAI_MPI_HOST_FILE AZ_BATCH_HOST_LIST BATCHAI_ SLURM SPANK_ SBATCH_ SRUN_ SALLOC_ "
    "PMI CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ROCR_VISIBLE_DEVICES ZE_AFFINITY_MASK "
    "KRB5CCNAME SSH_ XDG_SESSION XDG_RUNTIME_DIR DBUS_ DISPLAY XAUTHORITY WINDOWID TERM TMUX "
    "STY LS_COLORS COLUMNS LINES SHLVL PWD OLDPWD ";

// A file's text; empty if it cannot be read.
std::string text_of(const std::string& path, std::size_t limit) {
    auto text = sys::read_file(path, limit);
    return text ? *std::move(text) : std::string();
}

bool is_passing(const std::string& name) {
    // Each start has a blank before and after it, and no name has one.
    for (std::size_t length = name.size(); length > 0; --length)
        if (kPassing.find(" " + name.substr(0, length) + " ") != kPassing.npos) return true;
    return false;
}

bool is_of_a_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Replaces $NAME and ${NAME} as a shell does, and no other expansions.
std::string expand(std::string_view text, const Environment& environment) {
    std::string result;
    while (!text.empty()) {
        const std::size_t begin = text.starts_with("${") ? 2 : 1;
        std::size_t end = begin;
        if (text.front() == '$')
            while (end < text.size() && is_of_a_name(text[end])) ++end;
        if (end == begin) {
            result += text.front();
            text.remove_prefix(1);
            continue;
        }
        const auto value = environment.find(std::string(text.substr(begin, end - begin)));
        if (value != environment.end()) result += value->second;
        text.remove_prefix(std::min(text.size(), begin == 2 ? end + 1 : end));
    }
    return result;
}

struct Word {
    std::string text;
    bool written = false;  // the word follows a ">"
};

// The words of a command. It is split wherever the shell could split it.
std::vector<Word> words_of(const std::string& command, const Environment& environment) {
    constexpr char kBetween[] = " \t\r\n;&|()<>\"'`=,:";
    const std::string text = expand(command, environment);
    const auto home = environment.find("HOME");
    std::vector<Word> words;
    std::size_t end = 0;
    while (words.size() < kWordMaximum) {
        const std::size_t begin = text.find_first_not_of(kBetween, end);
        if (begin == text.npos) break;
        const std::size_t before = text.find_last_not_of(" \t\"'", begin == 0 ? 0 : begin - 1);
        end = std::min(text.size(), text.find_first_of(kBetween, begin));
        Word word{text.substr(begin, end - begin),
                  begin > 0 && before != text.npos && text[before] == '>'};
        if (word.text.starts_with("~/") && home != environment.end())
            word.text.replace(0, 1, home->second);
        words.push_back(std::move(word));
    }
    return words;
}

std::string size_and_time(const std::string& path) {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    return fmt::format("{} {}.{:09}", status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
}

// Size and time of the regular files that the command names, also relative to a directory that it
// names (cd).
struct Files {
    std::map<std::string, std::string> read;
    std::map<std::string, std::string> written;
};

Files files_of(const std::vector<Word>& words) {
    std::vector<std::string> directories{""};
    struct stat status = {};
    for (const auto& word : words)
        if (directories.size() < kDirectoryMaximum && stat(word.text.c_str(), &status) == 0 &&
            S_ISDIR(status.st_mode))
            directories.push_back(word.text + "/");
    Files files;
    for (const auto& [word, written] : words)
        for (const auto& directory : directories) {
            const std::string path = word.starts_with('/') ? word : directory + word;
            const std::string state = size_and_time(path);
            if (!state.empty()) (written ? files.written : files.read)[path] = state;
        }
    return files;
}

class Parts {
  public:
    void add(std::string_view part) { text_ += fmt::format("{}:{}\n", part.size(), part); }
    void add(const std::map<std::string, std::string>& files) {
        for (const auto& [path, state] : files) {
            add(path);
            add(state);
        }
    }
    std::string digest() const { return sys::sha256(text_); }

  private:
    std::string text_;
};

}  // namespace

Inputs inputs_of(const std::string& command, const std::string& node, const std::string& mounts,
                 const Environment& environment) {
    Files files = files_of(words_of(command, environment));
    std::string mentions = command;
    for (const auto& [path, state] : files.read) mentions += text_of(path, kScriptMaximum);
    std::error_code nowhere;
    Parts parts;
    parts.add(std::to_string(geteuid()));
    parts.add(node);
    parts.add(text_of("/proc/sys/kernel/random/boot_id", 64));
    parts.add(command);
    parts.add(std::filesystem::current_path(nowhere).string());
    parts.add(mounts);
    for (const auto& [name, value] : environment)
        if (name != "_" && (!is_passing(name) || mentions.find(name) != mentions.npos))
            parts.add(name + "=" + value);
    // The host file has the same path in all jobs.
    if (mentions.find("AZ_BATCHAI_MPI_HOST_FILE") != mentions.npos)
        if (const auto file = environment.find("AZ_BATCHAI_MPI_HOST_FILE");
            file != environment.end())
            parts.add(text_of(file->second, kScriptMaximum));
    Inputs inputs;
    inputs.identity = parts.digest();
    parts.add(files.read);
    parts.add(files.written);
    inputs.digest = parts.digest();
    inputs.read = std::move(files.read);
    return inputs;
}

bool unchanged(const Inputs& before, const Inputs& after) {
    return std::all_of(before.read.begin(), before.read.end(), [&](const auto& file) {
        const auto now = after.read.find(file.first);
        return now != after.read.end() && now->second == file.second;
    });
}

Environment current_environment() {
    Environment environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (equals != text.npos)
            environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return environment;
}

}  // namespace batchai::spank
