// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/sink.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "launcher/common/terminal.hpp"
#include "sys/file.hpp"

namespace batchai::launcher {

namespace {

// /var/tmp survives the job and a reboot. /tmp may belong to the job and end with it.
constexpr std::array kKeepers{"/var/tmp", "/tmp"};
// Length of the target's name in the name of the kept file: on some file systems (eCryptfs) a name
// has at most 143 bytes.
constexpr std::size_t kMostOfName = 100;

// The end of the name, because it distinguishes the files of a job. UTF-8 characters stay complete.
std::string shortened(const std::string& name) {
    if (name.size() <= kMostOfName) return name;
    std::size_t begin = name.size() - kMostOfName;
    while (begin < name.size() && (static_cast<unsigned char>(name[begin]) & 0xC0) == 0x80) ++begin;
    return name.substr(begin);
}

// Makes a file such as "/var/tmp/batchai-rank.07-stdout.a1B2c3"; empty if that is not possible.
std::string make_kept_file(const std::string& name, sys::UniqueFd& fd) {
    const std::filesystem::path path = name;
    std::string stem = path.filename();
    if (path.has_parent_path()) stem = path.parent_path().filename().string() + "-" + stem;
    std::replace_if(
        stem.begin(), stem.end(), [](char c) { return c == ' ' || c == '/'; }, '-');
    for (const char* directory : kKeepers) {
        std::string file = fmt::format("{}/batchai-{}.XXXXXX", directory, shortened(stem));
        fd.reset(::mkostemp(file.data(), O_CLOEXEC));
        if (fd) return file;
    }
    return {};
}

// Appends the whole of one file to another file, or nothing.
bool append(int from, int to) {
    struct stat status {};
    if (::fstat(to, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    std::array<char, 64 << 10> buffer{};
    off_t at = 0;
    ssize_t size = 0;
    bool good = true;
    while (good && (size = ::pread(from, buffer.data(), buffer.size(), at)) > 0) {
        good = sys::write_all(to, {buffer.data(), static_cast<std::size_t>(size)}).has_value();
        at += size;
    }
    good = good && size == 0 && ::fsync(to) == 0;
    if (!good) (void)!::ftruncate(to, status.st_size);
    return good;
}

// "no space left on device". libuv has no text for errors of file servers, such as quotas and stale
// handles.
std::string why_of(ssize_t code) {
    std::string text = std::strerror(static_cast<int>(-code));
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
}

// "n1:/var/tmp/...", where output is kept or was kept; empty: nowhere.
std::string place_of(const Sink::Failure& failure, const std::string& node) {
    return failure.kept.empty() ? std::string() : node + ":" + failure.kept;
}

}  // namespace

std::string describe(const Sink::Failure& failure, const std::string& node) {
    const std::string text = failure.name + ": " + failure.why + "; ";
    switch (failure.rest) {
        case Sink::Rest::kept:
            return text + "the ranks' output goes on in " + place_of(failure, node);
        case Sink::Rest::lost:
            return text + "the ranks' output is lost from here on";
        case Sink::Rest::unread:
            return text + "the program that read it has ended";
        case Sink::Rest::unsynced:
            return text + "some of the ranks' output may not be in it";
        case Sink::Rest::returned:
            return fmt::format("{}: can be written again: what was in {} is in it now",
                               failure.name, place_of(failure, node));
    }
    return {};
}

Misplaced misplaced_by(const Sink::Failure& failure, const std::string& node) {
    return {describe(failure, node), place_of(failure, node), failure.rest == Sink::Rest::returned};
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

void Sink::give_up(const std::string& why) {
    failed(why, false);
}

void Sink::finish() {
    finishing_ = true;
    if (idle() && (unsynced_ || may_be_back())) conclude();
}

bool Sink::may_be_back() const {
    return first_fd_ >= 0 && kept_ && !broken_;
}

// Syncs and takes back, at most once each and only if needed.
void Sink::conclude() {
    if (unsynced_) return sync();
    if (may_be_back()) return put_back();
    if (on_idle_) on_idle_();
}

void Sink::next() {
    while (broken_ && !queue_.empty()) taken();
    if (queue_.empty()) {
        if (finishing_) return conclude();
        if (on_idle_) on_idle_();
        return;
    }
    // Many short lines become one write.
    std::array<uv_buf_t, kTogether> buffers;
    std::size_t count = 0;
    for (std::size_t left = kBytes; count < buffers.size() && count < queue_.size() && left > 0;) {
        std::string& bytes = queue_[count].bytes;
        const std::size_t skip = count == 0 ? offset_ : 0;
        const std::size_t size = std::min(bytes.size() - skip, left);
        buffers[count++] = uv_buf_init(bytes.data() + skip, size);
        left -= size;
    }
    busy_ = true;
    uv_fs_write(loop_.get(), &request_, target_.fd, buffers.data(), count, -1,
                [](uv_fs_t* request) {
                    const ssize_t size = request->result;
                    uv_fs_req_cleanup(request);
                    static_cast<Sink*>(request->data)->written(size);
                });
}

// The first piece is finished. on_written may write again.
void Sink::taken() {
    const auto on_written = std::move(queue_.front().on_written);
    queue_.pop_front();
    offset_ = 0;
    on_written();
}

void Sink::written(ssize_t size) {
    if (size == UV_EAGAIN && wait()) return;
    if (size < 0 && size != UV_EINTR) {
        failed(why_of(size), size == UV_EPIPE);
    }
    if (size > 0) {
        offset_ += static_cast<std::size_t>(size);
        bytes_written_ += static_cast<std::size_t>(size);
        unsynced_ = true;
    }
    while (!broken_ && !queue_.empty() && offset_ >= queue_.front().bytes.size()) {
        const std::size_t beyond = offset_ - queue_.front().bytes.size();
        taken();
        offset_ = beyond;
    }
    busy_ = false;
    next();
}

// For a pipe or terminal that another program has made non-blocking. False: the descriptor cannot
// be polled.
bool Sink::wait() {
    struct stat status {};
    sys::UniqueFd fd(::fcntl(target_.fd, F_DUPFD_CLOEXEC, 0));
    if (!fd || ::fstat(fd.get(), &status) != 0 || S_ISREG(status.st_mode)) return false;
    writable_ = std::make_unique<Poll>(loop_, std::move(fd), [this](int) {
        writable_.reset();
        busy_ = false;
        next();
    });
    writable_->start(UV_WRITABLE);
    return true;
}

// fsync fails with EINVAL on a pipe or terminal, which need no sync.
void Sink::sync() {
    busy_ = true;
    unsynced_ = false;
    uv_fs_fsync(loop_.get(), &request_, target_.fd, [](uv_fs_t* request) {
        auto& sink = *static_cast<Sink*>(request->data);
        const ssize_t code = request->result;
        uv_fs_req_cleanup(request);
        if (code < 0 && code != UV_EINVAL && code != UV_EROFS) {
            sink.on_failure_({sink.target_.name, why_of(code), Rest::unsynced, {}});
        }
        sink.busy_ = false;
        sink.next();
    });
}

void Sink::put_back() {
    busy_ = true;
    work_.data = this;
    uv_queue_work(
        loop_.get(), &work_,
        [](uv_work_t* work) {
            auto& sink = *static_cast<Sink*>(work->data);
            sink.is_back_ = append(sink.kept_.get(), sink.first_fd_);
        },
        [](uv_work_t* work, int) {
            auto& sink = *static_cast<Sink*>(work->data);
            const int first = std::exchange(sink.first_fd_, -1);
            if (sink.is_back_) {
                const std::string kept =
                    std::exchange(sink.target_, {first, sink.first_name_}).name;
                ::unlink(kept.c_str());
                sink.on_failure_({sink.first_name_, {}, Rest::returned, kept});
            }
            sink.busy_ = false;
            sink.next();
        });
}

// The bytes that were written stay in the file. The remaining output goes to another file, once.
void Sink::failed(const std::string& why, bool no_reader) {
    Failure failure{target_.name, why, no_reader ? Rest::unread : Rest::lost, {}};
    if (!kept_ && !no_reader) {
        first_fd_ = target_.fd;
        first_name_ = target_.name;
    }
    target_.fd = -1;
    unsynced_ = false;
    if (!no_reader && !kept_) failure.kept = make_kept_file(failure.name, kept_);
    if (!failure.kept.empty()) {
        failure.rest = Rest::kept;
        target_ = {kept_.get(), failure.kept};
    }
    broken_ = target_.fd < 0;
    on_failure_(failure);
}

}  // namespace batchai::launcher
