// SPDX-License-Identifier: Apache-2.0
#include "launcher/sink.hpp"

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
    while (broken_ && !queue_.empty()) {
        const auto on_written = std::move(queue_.front().on_written);
        queue_.pop_front();
        on_written();
    }
    if (queue_.empty()) {
        if (on_idle_) on_idle_();
        return;
    }
    std::string& bytes = queue_.front().bytes;
    const uv_buf_t rest = uv_buf_init(bytes.data() + offset_, bytes.size() - offset_);
    busy_ = true;
    uv_fs_write(loop_.get(), &request_, fd_, &rest, 1, -1, [](uv_fs_t* request) {
        const ssize_t size = request->result;
        uv_fs_req_cleanup(request);
        static_cast<Sink*>(request->data)->written(size);
    });
}

void Sink::written(ssize_t size) {
    busy_ = false;
    if (size < 0 && size != UV_EINTR && size != UV_EAGAIN) {
        broken_ = true;
        on_error_(uv_strerror(static_cast<int>(size)));
    }
    if (size > 0) offset_ += static_cast<std::size_t>(size);
    if (!broken_ && offset_ >= queue_.front().bytes.size()) {
        const auto on_written = std::move(queue_.front().on_written);
        queue_.pop_front();
        offset_ = 0;
        on_written();
    }
    if (!busy_) next();
}

}  // namespace batchai::launcher
