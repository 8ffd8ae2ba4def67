// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/timeline.hpp"

#include <fmt/format.h>

namespace batchai::coll {

sys::Result<void> Timeline::start(const std::string& path, bool mark_cycles) {
    stop();
    const std::scoped_lock held(lock_);
    file_.reset(std::fopen(path.c_str(), "we"));
    if (file_ == nullptr) return sys::errno_error("the timeline " + path);
    flushed_ = Clock::now();
    mark_cycles_ = mark_cycles;
    first_ = true;
    on_ = true;
    return {};
}

void Timeline::stop() {
    const std::scoped_lock held(lock_);
    on_ = false;
    if (file_ != nullptr) std::fputs(first_ ? "[]\n" : "\n]\n", file_.get());
    file_.reset();
}

void Timeline::write(std::string_view event) {
    const std::scoped_lock held(lock_);
    if (file_ == nullptr) return;
    std::fputs(first_ ? "[\n" : ",\n", file_.get());
    first_ = false;
    std::fwrite(event.data(), 1, event.size(), file_.get());
    const auto now = Clock::now();
    if (now - flushed_ < std::chrono::seconds(1)) return;
    flushed_ = now;
    std::fflush(file_.get());
}

void Timeline::begin(std::string_view tensor, std::string_view what, Clock::time_point when) {
    if (!on_) return;
    write(fmt::format(R"({{"ph":"b","cat":"tensor","id":{0},"name":"{1}","pid":{2},"tid":0,)"
                      R"("ts":{3:.3f},"args":{{"tensor":{0}}}}})",
                      json_string(tensor), what, rank_, microseconds(when)));
}

void Timeline::end(std::string_view tensor, std::string_view what, Clock::time_point when) {
    if (!on_) return;
    write(fmt::format(R"({{"ph":"e","cat":"tensor","id":{},"name":"{}","pid":{},"tid":0,)"
                      R"("ts":{:.3f}}})",
                      json_string(tensor), what, rank_, microseconds(when)));
}

void Timeline::span(std::string_view what, Clock::time_point began, std::size_t bytes,
                    std::size_t tensors) {
    if (!on_) return;
    const double ts = microseconds(began), duration = microseconds(Clock::now()) - ts;
    write(fmt::format(R"({{"ph":"X","name":"{}","pid":{},"tid":1,"ts":{:.3f},"dur":{:.3f},)"
                      R"("args":{{"bytes":{},"tensors":{}}}}})",
                      what, rank_, ts, duration, bytes, tensors));
}

void Timeline::cycle() {
    if (!on_ || !mark_cycles_) return;
    write(fmt::format(R"({{"ph":"i","name":"CYCLE_START","pid":{},"tid":1,"ts":{:.3f},"s":"p"}})",
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
