// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "launcher/common/continued_file.hpp"

namespace batchai::launcher {

RankFiles::RankFiles(Loop& loop, std::string directory, int ranks, Callbacks callbacks)
    : loop_(loop),
      directory_(std::move(directory)),
      width_(std::to_string(ranks - 1).size()),
      callbacks_(std::move(callbacks)) {}

sys::Result<void> RankFiles::open(int rank, bool append, const std::string& line) {
    const std::string directory = fmt::format("{}/rank.{:0{}}", directory_, rank, width_);
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return sys::Error{"creating " + directory + ": " + error.message()};
    for (auto [stream, name] : {std::pair{Stream::out, "/stdout"}, {Stream::err, "/stderr"}}) {
        const std::string path = directory + name;
        auto fd = continue_file(path, append ? line : std::string());
        if (!fd) return fd.error();
        if (!append && ::ftruncate(fd->get(), 0) != 0 && errno != EINVAL) {
            return sys::errno_error("emptying " + path);
        }
        File& file = files_[{rank, stream}];
        file.fd = std::move(*fd);
        file.sink =
            std::make_unique<Sink>(loop_, Sink::Target{file.fd.get(), path}, callbacks_.on_failure);
        file.sink->set_on_idle(callbacks_.on_idle);
    }
    return {};
}

void RankFiles::write(int rank, Stream stream, std::string bytes) {
    const auto size = bytes.size();
    files_.at({rank, stream}).sink->write(std::move(bytes), [this, size] {
        callbacks_.on_written(size);
    });
}

bool RankFiles::idle() const {
    return std::all_of(files_.begin(), files_.end(),
                       [](const auto& file) { return file.second.sink->idle(); });
}

}  // namespace batchai::launcher
