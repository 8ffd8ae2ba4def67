// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

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

}  // namespace

std::string path_of_rank(const std::string& directory, int rank, int ranks) {
    const std::size_t width = std::to_string(ranks - 1).size();
    return fmt::format("{}/rank.{:0{}}/{{stream}}", directory, rank, width);
}

RankFiles::RankFiles(Loop& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)) {}

Sink& RankFiles::add(int rank, Stream stream, const std::string& path, sys::UniqueFd fd) {
    File file;
    file.fd = std::move(fd);
    file.sink =
        std::make_unique<Sink>(loop_, Sink::Target{file.fd.get(), path}, callbacks_.on_failure);
    file.sink->set_on_idle(callbacks_.on_idle);
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
        file->second.sink->write(bytes,
                                 [this, size = bytes.size()] { callbacks_.on_written(size); });
    }
}

void RankFiles::finish() {
    for (auto& [key, file] : files_) file.sink->finish();
}

bool RankFiles::idle() const {
    return std::all_of(files_.begin(), files_.end(),
                       [](const auto& file) { return file.second.sink->idle(); });
}

}  // namespace batchai::launcher
