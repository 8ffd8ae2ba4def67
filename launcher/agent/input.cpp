// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/input.hpp"

namespace batchai::launcher {
namespace {

struct Write {
    uv_write_t request;
    std::string bytes;
};

}  // namespace

InputPipe::InputPipe(Loop& loop, sys::UniqueFd fd, std::function<void()> on_taken)
    : pipe_(new uv_pipe_t), on_taken_(std::move(on_taken)) {
    uv_pipe_init(loop.get(), pipe_, 0);
    uv_pipe_open(pipe_, fd.release());
    pipe_->data = this;
}

void InputPipe::close() {
    if (pipe_ == nullptr) return;
    pipe_->data = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(pipe_),
             [](uv_handle_t* handle) { delete reinterpret_cast<uv_pipe_t*>(handle); });
    pipe_ = nullptr;
}

void InputPipe::write(std::string bytes) {
    if (bytes.empty() || pipe_ == nullptr) return close();
    auto* write = new Write{{}, std::move(bytes)};
    write->request.data = write;
    const uv_buf_t buffer = uv_buf_init(write->bytes.data(), write->bytes.size());
    const auto done = [](uv_write_t* request, int status) {
        auto* self = static_cast<InputPipe*>(request->handle->data);
        delete static_cast<Write*>(request->data);
        if (self == nullptr) return;
        if (status != 0) return self->close();  // the rank no longer reads
        self->on_taken_();
    };
    if (uv_write(&write->request, reinterpret_cast<uv_stream_t*>(pipe_), &buffer, 1, done) != 0) {
        delete write;
    }
}

}  // namespace batchai::launcher
