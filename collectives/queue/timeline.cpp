// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/timeline.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "collectives/common/no_signals.hpp"
#include "sys/user_path.hpp"

namespace batchai::coll {
namespace {

constexpr std::chrono::milliseconds kBetweenWrites{50};

}  // namespace

sys::Result<void> Timeline::start(const std::string& path, bool mark_cycles) {
    stop();
    auto file =
        sys::open_user_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0666, sys::FileKind::output);
    if (!file) return file.error().in("opening the timeline");
    file_ = *std::move(file);
    end_ = 0;
    write("[");
    first_ = true;
    mark_cycles_ = mark_cycles;
    on_ = true;
    const NoSignals no_signals;
    thread_ = std::thread([this] { write_until_stopped(); });
    return {};
}

void Timeline::stop() {
    {
        const std::scoped_lock held(lock_);
        on_ = false;
    }
    stopped_.notify_all();
    if (thread_.joinable()) thread_.join();
    file_.reset();
}

void Timeline::add(std::string_view event) {
    const std::scoped_lock held(lock_);
    if (!on_) return;
    events_ += first_ ? "\n" : ",\n";
    first_ = false;
    events_ += event;
}

void Timeline::write_until_stopped() {
    std::unique_lock held(lock_);
    bool ends = false;
    while (!ends) {
        ends = stopped_.wait_for(held, kBetweenWrites, [this] { return !on_; });
        if (events_.empty()) continue;
        const std::string events = std::exchange(events_, {});
        held.unlock();
        write(events);
        held.lock();
    }
}

// A full disk must not fail the job.
void Timeline::write(std::string_view events) {
    const std::string text = std::string(events) + "\n]\n";
    std::size_t done = 0;
    while (done < text.size()) {
        const ::ssize_t written = ::pwrite(file_.get(), text.data() + done, text.size() - done,
                                           end_ + static_cast<::off_t>(done));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        done += static_cast<std::size_t>(written);
    }
    end_ += static_cast<::off_t>(events.size());
}

void Timeline::begin(std::string_view tensor, std::string_view what, Clock::time_point when) {
    if (!on_) return;
    add(fmt::format(R"({{"ph":"b","cat":"tensor","id":{0},"name":"{1}","pid":{2},"tid":0,)"
                    R"("ts":{3:.3f},"args":{{"tensor":{0}}}}})",
                    json_string(tensor), what, rank_, microseconds(when)));
}

void Timeline::end(std::string_view tensor, std::string_view what, Clock::time_point when) {
    if (!on_) return;
    add(fmt::format(R"({{"ph":"e","cat":"tensor","id":{},"name":"{}","pid":{},"tid":0,)"
                    R"("ts":{:.3f}}})",
                    json_string(tensor), what, rank_, microseconds(when)));
}

void Timeline::span(std::string_view what, Clock::time_point began, std::size_t bytes,
                    std::size_t tensors) {
    if (!on_) return;
    const double ts = microseconds(began), duration = microseconds(Clock::now()) - ts;
    add(fmt::format(R"({{"ph":"X","name":"{}","pid":{},"tid":1,"ts":{:.3f},"dur":{:.3f},)"
                    R"("args":{{"bytes":{},"tensors":{}}}}})",
                    what, rank_, ts, duration, bytes, tensors));
}

void Timeline::cycle() {
    if (!on_ || !mark_cycles_) return;
    add(fmt::format(R"({{"ph":"i","name":"CYCLE_START","pid":{},"tid":1,"ts":{:.3f},"s":"p"}})",
                    rank_, microseconds(Clock::now())));
}

std::string json_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            quoted += fmt::format("\\u{:04x}", c);
        } else {
            quoted += c;
        }
    }
    return quoted += '"';
}

}  // namespace batchai::coll
