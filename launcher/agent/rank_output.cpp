// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "job/expand.hpp"
#include "launcher/common/continued_file.hpp"
#include "sys/directories.hpp"

namespace batchai::launcher {
namespace {

constexpr std::array kStreams{Stream::out, Stream::err};

// The file of a rank's stream; "{stream}" in the path's last part is replaced.
std::filesystem::path path_of(std::string path, Stream stream) {
    constexpr std::string_view kStream = "{stream}";
    return path.replace(path.rfind(kStream), kStream.size(),
                        stream == Stream::out ? "stdout" : "stderr");
}

// An error names the file or directory.
sys::Result<sys::UniqueFd> open_file(const std::filesystem::path& path, const std::string& line) {
    if (auto made = sys::make_directories(path.parent_path()); !made) return made.error();
    return continue_file(path, line);
}

// A message without the name at its start, which the reader of the message adds.
std::string without_start(const std::string& start, const std::string& message) {
    return message.starts_with(start) ? message.substr(start.size()) : message;
}

// Limits of untaken output in bytes. Above kHighWater the agent stops reading from the ranks; below
// kLowWater it reads again.
constexpr std::uint64_t kHighWater = 8 << 20, kLowWater = 4 << 20;

// The file that gets a rank's output instead of the root; empty: the root gets it. "{stream}" in it
// stands for stdout or stderr.
std::string own_file(const Launch& job, int rank, const env::Environment& environment,
                     const Meeting& meeting) {
    const std::string& output = program_of(job.programs, rank).program->output;
    const std::size_t name = output.rfind('/') + 1;  // braces in the directory are kept as they are
    return job::expand(output.substr(0, name), environment) +
           fill_in(output.substr(name), job.programs, rank, meeting);
}

}  // namespace

std::string path_of_rank(const std::string& directory, int rank, int ranks) {
    const std::size_t width = std::to_string(ranks - 1).size();
    return fmt::format("{}/rank.{:0{}}/{{stream}}", directory, rank, width);
}

Sink& RankFiles::add(int rank, Stream stream, const std::string& path, sys::UniqueFd fd) {
    File file;
    file.fd = std::move(fd);
    file.sink =
        std::make_unique<Sink>(loop_, Sink::Target{file.fd.get(), path},
                               [this](const Sink::Failure& failure) { host_.failed(failure); });
    file.sink->set_on_idle([this] { host_.idle_again(); });
    return *files_.emplace(std::pair{rank, stream}, std::move(file))->second.sink;
}

sys::Result<void> RankFiles::make(int rank, const std::string& path) {
    for (const Stream stream : kStreams) {
        const auto own = path_of(path, stream);
        auto fd = open_file(own, {});
        if (!fd) return fd.error();
        if (::ftruncate(fd->get(), 0) != 0 && errno != EINVAL) {
            return sys::errno_error("emptying " + own.string());
        }
        add(rank, stream, own, *std::move(fd));
    }
    return {};
}

sys::Result<void> RankFiles::extend(int rank, const std::string& path, const std::string& line) {
    for (const Stream stream : kStreams) {
        const auto own = path_of(path, stream);
        auto fd = open_file(own, line);
        if (!fd) return fd.error();
        add(rank, stream, own, *std::move(fd));
    }
    return {};
}

void RankFiles::reopen(int rank, const std::string& path, const std::string& line) {
    for (const Stream stream : kStreams) {
        const auto own = path_of(path, stream);
        auto fd = open_file(own, line);
        if (fd) {
            add(rank, stream, own, *std::move(fd));
        } else {
            add(rank, stream, own, {})
                .give_up(without_start(own.string() + ": ", fd.error().message));
        }
    }
}

void RankFiles::write(int rank, Stream stream, const std::string& bytes) {
    const auto [first, last] = files_.equal_range({rank, stream});
    for (auto file = first; file != last; ++file) {
        file->second.sink->write(bytes, [this, size = bytes.size()] { host_.written(size); });
    }
}

void RankFiles::finish() {
    for (auto& [key, file] : files_) file.sink->finish();
}

bool RankFiles::idle() const {
    return std::all_of(files_.begin(), files_.end(),
                       [](const auto& file) { return file.second.sink->idle(); });
}

sys::Result<void> RankOutput::open(const Launch& job, int node, const env::Environment& environment,
                                   const Meeting& meeting) {
    // In a restart the job has begun. A file that cannot be opened must not end it.
    const bool restarts = job.append_output;
    for (const int rank : job.map.ranks_on(node)) {
        std::string of_rank;
        if (const std::string& asked = job.settings.output_directory; !asked.empty())
            of_rank = path_of_rank(asked, rank, job.map.size());
        const std::string own = own_file(job, rank, environment, meeting);
        if (!own.empty()) own_.insert(rank);
        if (restarts) {
            if (!of_rank.empty()) files_.reopen(rank, of_rank, job.output_line);
            if (!own.empty()) files_.reopen(rank, own, job.output_line);
            continue;
        }
        sys::Result<void> opened;
        if (!of_rank.empty()) opened = files_.make(rank, of_rank);
        if (opened && !own.empty()) opened = files_.extend(rank, own, kLaunchedAgain);
        if (!opened) return opened;
    }
    return {};
}

sys::Result<void> RankOutput::open_further(const Launch& launch, int rank, std::string name) {
    if (launch.settings.output_directory.empty()) return {};
    std::replace(name.begin(), name.end(), ':', '.');
    const std::string path = launch.settings.output_directory + "/rank." + name + "/{stream}";
    if (!launch.append_output) return files_.make(rank, path);
    files_.reopen(rank, path, launch.output_line);
    return {};
}

void RankOutput::write(int rank, Stream stream, std::string bytes) {
    const bool to_root = !own_.contains(rank);
    untaken_ += bytes.size() * (files_.count(rank) + (to_root ? 1 : 0));
    if (untaken_ > kHighWater) host_.hold_output(true);
    files_.write(rank, stream, bytes);
    if (to_root) root_.send(Output{rank, stream, std::move(bytes)});
}

void RankOutput::taken(std::uint64_t bytes) {
    untaken_ -= bytes;
    if (untaken_ < kLowWater) host_.hold_output(false);
}

}  // namespace batchai::launcher
