// SPDX-License-Identifier: Apache-2.0
#include "job/check_texts.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "job/layout.hpp"
#include "job/names.hpp"

namespace batchai::job {

namespace {

bool is_path_character(char c) {
    constexpr std::string_view kOthers = "._-/";
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kOthers.find(c) != kOthers.npos;
}

// The part of text that begins with a path of plain characters.
std::string_view path_at(std::string_view text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_path_character);
    return text.substr(0, static_cast<std::size_t>(std::distance(text.begin(), end)));
}

// True if a word ends before these characters. Else a variable or a glob continues it.
bool ends_word(std::string_view rest) {
    constexpr std::string_view kEnds = " \t\n\r\"'`;&|<>():,=";
    return rest.empty() || kEnds.find(rest.front()) != kEnds.npos;
}

bool is_covered(const std::string& below, bool is_whole, const std::vector<Volume>& volumes) {
    if (is_within(below, kTemporary)) return true;
    return std::any_of(volumes.begin(), volumes.end(), [&](const Volume& volume) {
        const std::string& target = volume.relative_mount_path;
        return is_within(below, target) || is_within(target, below) ||
               (!is_whole && target.starts_with(below));
    });
}

}  // namespace

bool is_plain_path(std::string_view text) {
    return !text.empty() && text.find_first_of(" \t\n\"'`\\;&|<>()*?[]#!") == text.npos;
}

std::optional<ServicePath> service_path(const std::string& text) {
    const std::size_t at = text.find(std::string(kServiceNodes) + "/");
    if (at == text.npos) return std::nullopt;
    ServicePath found{std::string(path_at(std::string_view(text).substr(at))), ""};
    const std::string& path = found.path;
    constexpr std::string_view kMounts = "/mnt/batch/tasks/shared/LS_root/mounts";
    constexpr std::string_view kJobs = "/mnt/batch/tasks/shared/LS_root/jobs";
    if (is_within(path, kMounts)) {
        found.here = "$AZ_BATCHAI_MOUNT_ROOT" + path.substr(kMounts.size());
    } else if (is_within(path, kJobs)) {
        // Each job had a directory there, and its volumes in "mounts" of that directory.
        const std::size_t mounts = (path + "/").find("/mounts/");
        found.here = mounts == path.npos ? "$AZ_BATCHAI_JOB_TEMP"
                                         : "$AZ_BATCHAI_JOB_MOUNT_ROOT" +
                                               path.substr(std::min(mounts + 7, path.size()));
    }
    return found;
}

std::vector<std::string> paths_on_no_volume(const std::string& text,
                                            const std::vector<Volume>& volumes) {
    std::vector<std::string> found;
    const std::string_view all = text;
    for (std::size_t at = all.find('$'); at != all.npos; at = all.find('$', at + 1)) {
        const std::string_view rest = all.substr(at);
        const std::size_t root = mount_root_length(rest);
        if (root == 0 || rest.substr(root, 1) != "/") continue;
        const std::string_view path = path_at(rest.substr(root));
        const auto below = below_mount_root("$AZ_BATCHAI_MOUNT_ROOT" + std::string(path));
        const std::string named(rest.substr(0, root + path.size()));
        if (!below || below->empty() ||
            is_covered(*below, ends_word(rest.substr(named.size())), volumes) ||
            std::find(found.begin(), found.end(), named) != found.end())
            continue;
        found.push_back(named);
    }
    return found;
}

bool may_set_variable(std::string_view text, std::string_view name) {
    const auto is_of_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
        const char before = at == 0 ? ' ' : text[at - 1];
        const std::string_view rest = text.substr(at + name.size());
        if (!is_of_name(before) && before != '$' && before != '{' &&
            (rest.empty() || !is_of_name(rest.front())))
            return true;
    }
    return false;
}

namespace {

// Reads words and quotes of shell text, as far as the first program and the last quote need it.
class ShellReader {
  public:
    explicit ShellReader(std::string_view text) : text_(text) {}

    ShellText read() {
        for (at_ = 0; at_ < text_.size(); ++at_) {
            if (quote_ != 0)
                in_quotes(text_[at_]);
            else
                outside(text_[at_]);
        }
        end_word();
        result_.has_open_quote = quote_ != 0 && is_certain_;
        return result_;
    }

  private:
    char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

    void in_quotes(char c) {
        if (c == quote_)
            quote_ = 0;
        else if (c == '\\' && quote_ == '"')
            ++at_;
        else if (quote_ == '"' && (c == '`' || (c == '$' && next() == '(')))
            is_certain_ = false;  // the command inside has quotes of its own
        else
            word_ += c;
    }

    void outside(char c) {
        if (c == '\\') {
            ++at_;
            if (at_ < text_.size()) word_ += text_[at_];
        } else if (c == '\'' || c == '"') {
            quote_ = c;
        } else if (c == '#' && word_.empty()) {
            at_ = std::min(text_.find('\n', at_), text_.size()) - 1;  // a comment
        } else if (std::string_view(" \t\r<>)").find(c) != std::string_view::npos) {
            end_word();
            if (c == '<' && next() == '<') is_certain_ = false;  // a here-document
        } else if (std::string_view("\n;&|(`").find(c) != std::string_view::npos) {
            end_word();
            is_first_word_ = true;
        } else {
            if (c == '$' && (next() == '\'' || next() == '{')) is_certain_ = false;
            word_ += c;
        }
    }

    static bool is_assignment(const std::string& word) {
        const std::size_t equals = word.find('=');
        return equals != word.npos && is_variable_name(word.substr(0, equals));
    }

    void end_word() {
        const std::string word = std::exchange(word_, {});
        if (word.empty() || !is_first_word_ || !result_.program.empty() || is_assignment(word))
            return;
        constexpr std::string_view kWrappers[] = {"exec", "env", "time", "nohup"};
        constexpr std::string_view kPreparing[] = {"cd",     "source", ".",     "export", "set",
                                                   "ulimit", "module", "umask", "unset"};
        const std::string name = word.substr(word.rfind('/') + 1);
        if (std::find(std::begin(kWrappers), std::end(kWrappers), name) != std::end(kWrappers))
            return;
        is_first_word_ = false;
        if (std::find(std::begin(kPreparing), std::end(kPreparing), name) == std::end(kPreparing))
            result_.program = name;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    char quote_ = 0;
    std::string word_;
    bool is_first_word_ = true;
    bool is_certain_ = true;
    ShellText result_;
};

}  // namespace

ShellText read_shell_text(std::string_view text) {
    return ShellReader(text).read();
}

bool starts_ranks(std::string_view program) {
    constexpr std::string_view kStarters[] = {"mpirun",        "mpirun.openmpi", "mpirun.mpich",
                                              "mpirun_rsh",    "mpiexec",        "mpiexec.openmpi",
                                              "mpiexec.mpich", "mpiexec.hydra",  "orterun",
                                              "prterun",       "srun",           "horovodrun",
                                              "batchai-launch"};
    return std::find(std::begin(kStarters), std::end(kStarters), program) != std::end(kStarters);
}

}  // namespace batchai::job
