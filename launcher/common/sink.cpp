// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/sink.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "launcher/common/terminal.hpp"

namespace batchai::launcher {

namespace {

// /var/tmp outlives the job, and a reboot; /tmp may be the job's own and end with it.
constexpr std::array kKeepers{"/var/tmp", "/tmp"};

// "/var/tmp/batchai-rank.07-stdout.a1B2c3"; empty where there can be none.
std::string make_kept_file(const std::string& name, sys::UniqueFd& fd) {
    const std::filesystem::path path = name;
    std::string stem = path.filename();
    if (path.has_parent_path()) stem = path.parent_path().filename().string() + "-" + stem;
    std::replace_if(
        stem.begin(), stem.end(), [](char c) { return c == ' ' || c == '/'; }, '-');
    for (const char* directory : kKeepers) {
        std::string file = fmt::format("{}/batchai-{}.XXXXXX", directory, stem);
        fd.reset(::mkostemp(file.data(), O_CLOEXEC));
        if (fd) return file;
    }
    return {};
}

}  // namespace

std::string describe(const Sink::Failure& failure, const std::string& node) {
    const std::string text = failure.name + ": " + failure.why;
    if (failure.no_reader) return text + "; the program that read it has ended";
    if (failure.kept.empty()) return text + "; the ranks' output is lost from here on";
    return fmt::format("{}; the ranks' output goes on in {}:{}", text, node, failure.kept);
}

Sink::Target standard_stream(int fd) {
    const std::string file = file_of(fd);
    if (!file.empty()) return {fd, file};
    return {fd, fd == STDERR_FILENO ? "standard error" : "standard output"};
}

Sink::Sink(Loop& loop, Target target, std::function<void(const Failure&)> on_failure)
    : loop_(loop), target_(std::move(target)), on_failure_(std::move(on_failure)) {
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
    uv_fs_write(loop_.get(), &request_, target_.fd, buffers.data(), count, -1,
                [](uv_fs_t* request) {
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
    if (size < 0 && size != UV_EINTR && size != UV_EAGAIN) failed(static_cast<int>(size));
    if (size > 0) offset_ += static_cast<std::size_t>(size);
    while (!broken_ && !queue_.empty() && offset_ >= queue_.front().bytes.size()) {
        const std::size_t beyond = offset_ - queue_.front().bytes.size();
        taken();
        offset_ = beyond;
    }
    busy_ = false;
    next();
}

// The written part of the first piece stays in the file. The rest goes to another file, once.
void Sink::failed(int code) {
    Failure failure{target_.name, uv_strerror(code), {}, code == UV_EPIPE};
    if (!failure.no_reader && !kept_) {
        failure.kept = make_kept_file(target_.name, kept_);
        target_ = {kept_.get(), failure.kept};
    } else {
        target_.fd = -1;
    }
    broken_ = target_.fd < 0;
    on_failure_(failure);
}

}  // namespace batchai::launcher
