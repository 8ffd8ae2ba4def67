// SPDX-License-Identifier: Apache-2.0
#include "cli/job/job_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <vector>

#include "cli/job/job_input.hpp"
#include "job/layout.hpp"
#include "job/plan.hpp"
#include "sys/directories.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::cli {
namespace {

std::string ids_of(const job::JobSpec& spec) {
    std::string ids = "stdouterr";
    for (const job::OutputDirectory& output : spec.outputs) ids += ", " + output.id;
    return ids;
}

}  // namespace

sys::Result<std::string> output_directory(const NamedJob& job, const std::string& id,
                                          const std::string& path) {
    const std::filesystem::path below(path);
    for (const auto& part : below)
        if (part == ".." || below.is_absolute())
            return sys::Error{"--path " + path + ": must stay below the output directory"};
    const auto policy = load_job_policy(job.store, job.row);
    if (!policy) return policy.error();
    const auto spec = read_spec(job.store, job.row);
    if (!spec) return spec.error();
    std::string prefix = spec->std_out_err_path_prefix;
    auto directory = job::login_stdouterr_directory(*spec, *policy, job.row.identity);
    if (id != "stdouterr") {
        const auto found =
            std::find_if(spec->outputs.begin(), spec->outputs.end(),
                         [&](const job::OutputDirectory& output) { return output.id == id; });
        if (found == spec->outputs.end())
            return sys::Error{"output directory " + id + ": the job has only " + ids_of(*spec)};
        prefix = found->path_prefix;
        directory = job::login_output_directory(*spec, *policy, job.row.identity, *found);
    }
    if (!directory)
        return sys::Error{"job " + job.row.identity.name + ": its output (" + prefix +
                          ") is on no share that this machine sees: the site policy's [[share]] "
                          "has no login_path"};
    const auto whole = std::filesystem::path(*directory) / below;
    return path == "." ? *directory : whole.lexically_normal().string();
}

namespace {

// Files that have one name each, or one for each of several numbers or nodes.
struct Files {
    std::string begin, end;  // of the name; between them is a number or a node
    enum class Middle { nothing, number, node } middle = Middle::nothing;
    int first = 0, last = 0;
    bool may_be_more = false;  // the nodes' GPUs decide how many
};

bool has(const Files& files, std::string_view name) {
    if (files.middle == Files::Middle::nothing) return name == files.begin + files.end;
    if (!name.starts_with(files.begin) || !name.ends_with(files.end)) return false;
    if (name.size() <= files.begin.size() + files.end.size()) return false;
    if (files.middle == Files::Middle::node) return true;
    name.remove_prefix(files.begin.size());
    name.remove_suffix(files.end.size());
    int number = -1;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() && rest == name.data() + name.size() && number >= files.first &&
           (number <= files.last || files.may_be_more);
}

std::string text_of(const Files& files) {
    const auto with = [&files](const std::string& middle) {
        return files.begin + middle + files.end;
    };
    if (files.middle == Files::Middle::nothing) return with("");
    if (files.middle == Files::Middle::node) return with("NODE");
    const std::string first = with(std::to_string(files.first));
    const std::string last = with(std::to_string(files.last));
    if (files.first == files.last) return first;
    return first + (files.last == files.first + 1 ? ", " : " to ") + last;
}

Files files_of(const std::string& stream, const job::ProcessGroup& group, bool may_be_more) {
    Files files{stream, ".txt", Files::Middle::nothing, 0, 0, may_be_more};
    constexpr std::string_view kIndex = "{index}";
    const std::size_t index = group.output.find(kIndex);
    if (!group.output.empty()) files.begin += "-" + group.output.substr(0, index);
    if (index == group.output.npos) return files;
    files.end = group.output.substr(index + kIndex.size()) + files.end;
    files.middle = Files::Middle::number;
    files.first = group.first_index;
    files.last = group.first_index + group.count - 1;
    return files;
}

// A file for the whole job on one node, else one for each node.
Files files_of_nodes(const std::string& begin, const std::string& end, bool has_one_node) {
    if (has_one_node) return {begin, end};
    return {begin + "-", end, Files::Middle::node};
}

std::vector<Files> planned(const std::string& stream, const job::JobSpec& spec,
                           const job::SitePolicy& policy) {
    std::vector<Files> all;
    if (stream == "execution") return {files_of_nodes(stream, ".log", spec.node_count == 1)};
    const bool may_be_more = policy.rank_per_gpu && !spec.toolkit.process_count;
    for (const job::ProcessGroup& group : job::plan_launch(spec, policy, {}))
        all.push_back(files_of(stream, group, may_be_more));
    if (spec.preparation_command)
        all.push_back(files_of_nodes(stream + "-job_prep", ".txt", spec.node_count == 1));
    return all;
}

// Whether batchai gives such a name to a file of some job. A script may write "stdout-mine.txt".
bool is_of_stream(std::string_view name, std::string_view stream, std::string_view end) {
    if (!name.starts_with(stream) || !name.ends_with(end) ||
        name.size() < stream.size() + end.size())
        return false;
    const std::string_view rest =
        name.substr(stream.size(), name.size() - stream.size() - end.size());
    if (rest.empty() || !rest.starts_with('-')) return rest.empty();
    return stream == "execution" || rest.find_first_not_of("0123456789", 1) == rest.npos ||
           rest.starts_with("-wk-") || rest.starts_with("-ps-") || rest.starts_with("-job_prep");
}

}  // namespace

std::string files_instead_of(const std::string& name, const job::JobSpec& spec,
                             const job::SitePolicy& policy) {
    for (const auto& [stream, end] :
         {std::pair{"stdout", ".txt"}, {"stderr", ".txt"}, {"execution", ".log"}}) {
        if (!is_of_stream(name, stream, end)) continue;
        const auto files = planned(stream, spec, policy);
        if (std::any_of(files.begin(), files.end(),
                        [&name](const Files& some) { return has(some, name); }))
            return {};
        std::vector<std::string> texts;
        for (const Files& some : files) texts.push_back(text_of(some));
        return fmt::format("{}", fmt::join(texts, ", "));
    }
    return {};
}

namespace {

constexpr std::size_t kReadBlock = 64 * 1024;

}  // namespace

bool FileFollower::exists() const {
    sys::refresh_directory(std::filesystem::path(path_).parent_path());
    return ::access(path_.c_str(), F_OK) == 0;
}

sys::Result<bool> FileFollower::read_on() {
    const sys::UniqueFd file(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file && (errno == ENOENT || errno == ENOTDIR)) return false;
    if (!file) return sys::errno_error(path_);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return sys::errno_error(path_);
    if (!S_ISREG(status.st_mode)) return sys::Error{path_ + ": not a regular file"};
    if (status.st_size < offset_) offset_ = 0;

    std::vector<char> block(kReadBlock);
    for (;;) {
        const ssize_t n = ::pread(file.get(), block.data(), block.size(), offset_);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sys::errno_error(path_);
        if (n == 0) return true;
        if (auto done = sink_({block.data(), static_cast<std::size_t>(n)}); !done)
            return done.error();
        offset_ += n;
    }
}

sys::Result<bool> follow(FileFollower& file, const FollowCallbacks& callbacks) {
    bool found = false;
    bool told = false;
    for (;;) {
        const auto over = callbacks.is_over();  // before the read: the last one follows the end
        if (!over) return over.error();
        if (!found && file.exists()) {
            callbacks.found();
            found = true;
        }
        if (const auto done = file.read_on(); !done) return done.error();
        if (*over) return found;
        if (!found && !told) {
            callbacks.waiting();
            told = true;
        }
        callbacks.pause();
    }
}

}  // namespace batchai::cli
