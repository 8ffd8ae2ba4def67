// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/input_feed.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace batchai::launcher {

InputFeed::InputFeed(Loop& loop, Nodes& nodes) : loop_(loop), nodes_(nodes) {
    request_.data = this;
}

void InputFeed::start(bool wanted) {
    // If another process group is in the terminal's foreground, reading from the terminal would
    // stop us.
    const bool background = ::isatty(0) != 0 && ::tcgetpgrp(0) != ::getpgrp();
    if (!wanted || background) return nodes_.send(0, Input{});
    state_ = State::started;
    buffer_.resize(1 << 16);
    read();
}

void InputFeed::next() {
    if (state_ == State::started) read();
}

void InputFeed::stop() {
    state_ = State::stopped;
    ready_.reset();
}

void InputFeed::read() {
    const uv_buf_t buffer = uv_buf_init(buffer_.data(), buffer_.size());
    reading_ = true;
    uv_fs_read(loop_.get(), &request_, 0, &buffer, 1, -1, [](uv_fs_t* request) {
        const ssize_t size = request->result;
        uv_fs_req_cleanup(request);
        static_cast<InputFeed*>(request->data)->pass_on(size);
    });
}

void InputFeed::pass_on(ssize_t size) {
    reading_ = false;
    if (state_ != State::started) return;
    if (size == UV_EAGAIN) {
        ready_ = std::make_unique<Poll>(loop_, sys::UniqueFd(::fcntl(0, F_DUPFD_CLOEXEC, 0)),
                                        [this](int) {
                                            ready_.reset();
                                            read();
                                        });
        return;
    }
    nodes_.send(0, Input{buffer_.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0)))});
}

}  // namespace batchai::launcher
