// SPDX-License-Identifier: Apache-2.0
#include "collectives/queue/timeline.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <utility>

#include "collectives/common/no_signals.hpp"
#include "sys/user_path.hpp"

namespace batchai::coll {
namespace {

constexpr std::chrono::milliseconds kBetweenWrites{50};

// "ALLREDUCE", "BROADCAST", ...: the first word of the operation's description, in capitals.
std::string verb_of(const Submission& submission) {
    const std::string does = describe_key(submission.key);
    std::string verb;
    for (const char c : std::string_view(does).substr(0, does.find(' '))) {
        verb += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return verb;
}

std::string pending_name(const Submission& submission) {
    return "NEGOTIATE_" + verb_of(submission);
}

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

sys::Result<void> Trace::start(const std::string& path, bool mark_cycles) {
    timeline_.stop();
    if (path.empty()) return {};
    return timeline_.start(path, mark_cycles);
}

void Trace::begin_row(const Submission& submission) {
    timeline_.begin(submission.name(), pending_name(submission), Timeline::Clock::now());
}

void Trace::on_agreed(const std::vector<Submission*>& submissions) {
    if (!timeline_.is_on()) return;
    const auto now = Timeline::Clock::now();
    for (const Submission* submission : submissions) {
        timeline_.end(submission->name(), pending_name(*submission), now);
        timeline_.begin(submission->name(), verb_of(*submission), now);
    }
}

void Trace::on_ended(const std::vector<Submission*>& together, bool well) {
    if (!timeline_.is_on()) return;
    const auto now = Timeline::Clock::now();
    for (const Submission* submission : together) {
        if (submission->state == Submission::State::pending) {
            timeline_.end(submission->name(), pending_name(*submission), message_began_);
            timeline_.begin(submission->name(), verb_of(*submission), message_began_);
        }
        timeline_.end(submission->name(), verb_of(*submission), now);
    }
    if (well) {
        timeline_.span(verb_of(*together.front()), message_began_, message_bytes_, together.size());
    }
}

void Trace::on_negotiation(bool begins) {
    if (begins) {
        round_began_ = Timeline::Clock::now();
        timeline_.cycle();
    } else {
        timeline_.span("NEGOTIATION", round_began_, 0, 0);
    }
}

void Trace::on_started(std::size_t bytes) {
    message_began_ = Timeline::Clock::now();
    message_bytes_ = bytes;
}

}  // namespace batchai::coll
