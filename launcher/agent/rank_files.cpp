// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/rank_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace batchai::launcher {

RankFiles::RankFiles(Loop& loop, std::string directory, int ranks, Callbacks callbacks)
    : loop_(loop),
      directory_(std::move(directory)),
      width_(std::to_string(ranks - 1).size()),
      callbacks_(std::move(callbacks)) {}

sys::Result<void> RankFiles::open(int rank, bool append) {
    const std::string directory = fmt::format("{}/rank.{:0{}}", directory_, rank, width_);
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return sys::Error{"creating " + directory + ": " + error.message()};
    for (auto [stream, name] : {std::pair{Stream::out, "/stdout"}, {Stream::err, "/stderr"}}) {
        auto file = create(directory + name, append);
        if (!file) return file.error();
        files_[{rank, stream}] = std::move(*file);
    }
    return {};
}

sys::Result<RankFiles::File> RankFiles::create(const std::string& path, bool append) {
    File file;
    const int mode = append ? O_APPEND : O_TRUNC;
    file.fd.reset(::open(path.c_str(), O_WRONLY | O_CREAT | mode | O_NONBLOCK | O_CLOEXEC, 0644));
    if (!file.fd) return sys::errno_error("creating " + path);
    file.sink = std::make_unique<Sink>(loop_, file.fd.get(), [this, path](const std::string& why) {
        callbacks_.on_error("writing " + path + ": " + why);
    });
    file.sink->set_on_idle(callbacks_.on_idle);
    return file;
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
