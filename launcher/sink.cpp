// SPDX-License-Identifier: Apache-2.0
#include "launcher/sink.hpp"

#include <algorithm>
#include <array>

namespace batchai::launcher {

Sink::Sink(Loop& loop, int fd, std::function<void(const std::string&)> on_error)
    : loop_(loop), fd_(fd), on_error_(std::move(on_error)) {
    request_.data = this;
}

void Sink::write(std::string bytes, std::function<void()> on_written) {
    queue_.push_back({std::move(bytes), std::move(on_written)});
    if (!busy_) next();
}

void Sink::next() {
    while (broken_ && !queue_.empty()) taken();
    if (queue_.empty()) {
        if (on_idle_) on_idle_();
        return;
    }
    // Many short lines are one write.
    std::array<uv_buf_t, kTogether> buffers;
    const std::size_t count = std::min(queue_.size(), buffers.size());
    for (std::size_t i = 0; i < count; ++i) {
        std::string& bytes = queue_[i].bytes;
        const std::size_t skip = i == 0 ? offset_ : 0;
        buffers[i] = uv_buf_init(bytes.data() + skip, bytes.size() - skip);
    }
    busy_ = true;
    uv_fs_write(loop_.get(), &request_, fd_, buffers.data(), count, -1, [](uv_fs_t* request) {
        const ssize_t size = request->result;
        uv_fs_req_cleanup(request);
        static_cast<Sink*>(request->data)->written(size);
    });
}

// The first piece is done with. Its owner may write again from on_written.
void Sink::taken() {
    const auto on_written = std::move(queue_.front().on_written);
    queue_.pop_front();
    offset_ = 0;
    on_written();
}

void Sink::written(ssize_t size) {
    if (size < 0 && size != UV_EINTR && size != UV_EAGAIN) {
        broken_ = true;
        on_error_(uv_strerror(static_cast<int>(size)));
    }
    if (size > 0) offset_ += static_cast<std::size_t>(size);
    while (!broken_ && !queue_.empty() && offset_ >= queue_.front().bytes.size()) {
        const std::size_t beyond = offset_ - queue_.front().bytes.size();
        taken();
        offset_ = beyond;
    }
    busy_ = false;
    next();
}

}  // namespace batchai::launcher
