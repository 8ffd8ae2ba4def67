// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "launcher/common/continued_file.hpp"

namespace batchai::launcher {
namespace {

constexpr std::array kStreams{Stream::out, Stream::err};

const char* name_of(Stream stream) {
    return stream == Stream::out ? "stdout" : "stderr";
}

}  // namespace

RankFiles::RankFiles(Loop& loop, std::string directory, int ranks, Callbacks callbacks)
    : loop_(loop),
      directory_(std::move(directory)),
      width_(std::to_string(ranks - 1).size()),
      callbacks_(std::move(callbacks)) {}

std::string RankFiles::directory_of(int rank) const {
    return fmt::format("{}/rank.{:0{}}", directory_, rank, width_);
}

std::string RankFiles::path_of(int rank, Stream stream) const {
    return directory_of(rank) + "/" + name_of(stream);
}

sys::Result<sys::UniqueFd> RankFiles::open_directory(int rank) const {
    const std::filesystem::path path = directory_of(rank);
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return sys::Error{"creating " + path.string() + ": " + error.message()};
    const sys::UniqueFd above(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!above) return sys::errno_error(path.parent_path());
    auto directory = open_own(above.get(), path.filename(), O_PATH | O_DIRECTORY);
    if (!directory) return directory.error().in(path);
    return directory;
}

Sink& RankFiles::add(int rank, Stream stream, sys::UniqueFd fd) {
    File& file = files_[{rank, stream}];
    file.fd = std::move(fd);
    file.sink = std::make_unique<Sink>(loop_, Sink::Target{file.fd.get(), path_of(rank, stream)},
                                       callbacks_.on_failure);
    file.sink->set_on_idle(callbacks_.on_idle);
    return *file.sink;
}

sys::Result<void> RankFiles::make(int rank) {
    const auto directory = open_directory(rank);
    if (!directory) return directory.error();
    for (const Stream stream : kStreams) {
        auto fd = continue_file(directory->get(), name_of(stream), {});
        const std::string path = path_of(rank, stream);
        if (!fd) return fd.error().in("creating " + path);
        if (::ftruncate(fd->get(), 0) != 0 && errno != EINVAL) {
            return sys::errno_error("emptying " + path);
        }
        add(rank, stream, *std::move(fd));
    }
    return {};
}

void RankFiles::reopen(int rank, const std::string& line) {
    const auto directory = open_directory(rank);
    for (const Stream stream : kStreams) {
        auto fd = directory ? continue_file(directory->get(), name_of(stream), line)
                            : sys::Result<sys::UniqueFd>(directory.error());
        Sink& sink = add(rank, stream, fd ? *std::move(fd) : sys::UniqueFd());
        if (!fd) sink.give_up(fd.error().message);
    }
}

void RankFiles::write(int rank, Stream stream, std::string bytes) {
    const auto size = bytes.size();
    files_.at({rank, stream}).sink->write(std::move(bytes), [this, size] {
        callbacks_.on_written(size);
    });
}

void RankFiles::finish() {
    for (auto& [key, file] : files_) file.sink->finish();
}

bool RankFiles::idle() const {
    return std::all_of(files_.begin(), files_.end(),
                       [](const auto& file) { return file.second.sink->idle(); });
}

}  // namespace batchai::launcher
